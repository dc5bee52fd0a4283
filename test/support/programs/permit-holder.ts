import { Holdfast, type Permits, type PresenceOptions } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";
import { obey, settings, tell } from "./orders.js";

/**
 * A process that uses permits of a permit-expirable semaphore: holds some, to be killed and asked; or lets tasks in, each
 * with permits of its own, and counts in Redis how many are inside at once. Says "ready" when it has connected.
 */
export interface PermitHolderSettings {
  readonly port: number;
  readonly semaphore: string;
  readonly watchdogMs?: number;
  readonly presence?: PresenceOptions;
}

interface Taking {
  readonly permits?: number;
  readonly leaseMs?: number;
  readonly watchdog?: boolean;
}

interface Campaign extends Taking {
  readonly tasks?: number;
  readonly forMs?: number;
  /** The key that counts who is inside. */
  readonly counter?: string;
  /** False shows what goes wrong without permits. Default: true. */
  readonly guarded?: boolean;
  /** Who is inside stays until so many were once inside at the same time. Default: nobody waits for that. */
  readonly full?: number;
}

const { port, semaphore: name, ...options } = settings<PermitHolderSettings>();
const [redis, plain] = [new Redis({ host: "127.0.0.1", port }), new Redis({ host: "127.0.0.1", port })];
const holdfast = new Holdfast(ioredisDriver(redis), options);
const semaphore = holdfast.getPermitExpirableSemaphore(name);
/** The newest last. */
const held: Permits[] = [];

async function campaign({
  tasks = 1,
  forMs = 0,
  counter = "",
  guarded = true,
  full = 0,
  permits = 1,
  ...taking
}: Campaign) {
  const untilMs = performance.now() + forMs;
  let [visits, most, lost] = [0, 0, 0];
  const visit = async () => {
    const inside = await plain.incrby(counter, permits);
    most = Math.max(most, inside);
    visits += 1;
    if (inside === full) await plain.set(`${counter}:full`, 1);
    while (full > 0 && (await plain.exists(`${counter}:full`)) === 0);
    await plain.decrby(counter, permits);
  };
  const guardedVisit = () =>
    semaphore.using(permits, taking, async (mine) => {
      await visit();
      if (mine.state !== "held") lost += 1;
    });
  const task = async () => {
    while (performance.now() < untilMs) await (guarded ? guardedVisit() : visit());
  };
  await Promise.all(Array.from({ length: tasks }, task));
  return { event: "visited", visits, most, lost };
}

const stopListening = obey({
  campaign,
  acquire: async ({ permits = 1, ...taking }: Taking) => {
    const taken = await semaphore.acquire(permits, taking);
    held.push(taken);
    return { event: "held", ids: taken.ids };
  },
  /** Permits of a plain semaphore. */
  take: async ({ from = "", permits = 1 }: { readonly from?: string; readonly permits?: number }) => {
    await holdfast.getSemaphore(from).acquire(permits);
    return { event: "taken" };
  },
  state: () => ({ event: "state", state: held.at(-1)?.state }),
  release: async () => {
    await held.pop()?.release();
    return { event: "released" };
  },
  exit: async () => {
    await holdfast.close();
    stopListening();
    redis.disconnect();
    plain.disconnect();
    return { event: "closed" };
  },
});

await Promise.all([redis.ping(), plain.ping()]);
tell("ready");
