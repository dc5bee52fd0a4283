import { Holdfast } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";
import { obey, settings, tell } from "./orders.js";

/**
 * A process that uses the permits of a semaphore, or waits for a latch. Says "ready" when it has connected; closes its
 * client and ends when told so.
 */
export interface PermitUserSettings {
  readonly port: number;
  readonly semaphore: string;
  readonly latch?: string;
  /** Where those who are inside are counted, by the permits that they have. */
  readonly inside: string;
}

/** How a process works under a semaphore. */
export interface WorkOrder {
  /** How many permits each turn takes. Default: 1. */
  readonly permits?: number;
  /** How many tasks take turns side by side. Default: 1. */
  readonly tasks?: number;
  /** For how long, in milliseconds. */
  readonly forMs: number;
  /** False shows what goes wrong without permits. Default: true. */
  readonly guarded?: boolean;
  /** Who is inside stays until so many were once inside at the same time. Default: nobody waits for that. */
  readonly full?: number;
}

const { port, semaphore: name, latch: latchName = "latch", inside } = settings<PermitUserSettings>();
const [redis, plain] = [new Redis({ host: "127.0.0.1", port }), new Redis({ host: "127.0.0.1", port })];
const holdfast = new Holdfast(ioredisDriver(redis));
const semaphore = holdfast.getSemaphore(name);
const latch = holdfast.getCountDownLatch(latchName);

/** Answers how many turns there were, and the most permits that were in use at once. */
async function work({ permits = 1, tasks = 1, forMs, guarded = true, full = 0 }: WorkOrder) {
  const untilMs = performance.now() + forMs;
  let [turns, most] = [0, 0];
  const turn = async () => {
    const insideNow = await plain.incrby(inside, permits);
    most = Math.max(most, insideNow);
    if (insideNow === full) await plain.set(`${inside}:full`, 1);
    while (full > 0 && (await plain.exists(`${inside}:full`)) === 0);
    await plain.ping();
    await plain.decrby(inside, permits);
    turns += 1;
  };
  const task = async () => {
    while (performance.now() < untilMs) await (guarded ? semaphore.using(permits, turn) : turn());
  };
  await Promise.all(Array.from({ length: tasks }, task));
  return { turns, most };
}

const stopListening = obey({
  work: async (order) => ({ event: "worked", ...(await work(order as WorkOrder)) }),
  acquire: async (options) => {
    await semaphore.acquire((options as { readonly permits: number }).permits);
    return { event: "acquired" };
  },
  await: async () => ({ event: "awaited", open: await latch.await() }),
  countDown: async () => {
    await latch.countDown();
    return { event: "counted" };
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
