import { type Clock, Holdfast } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { leader, runOnce, singleFlight, type Term } from "holdfast/recipes";
import { Redis } from "ioredis";
import { describe, obey, settings, tell } from "./orders.js";

/**
 * A process of a fleet that uses recipes: it runs the fires of a schedule, stands for leader, or gets a value that many want. Says "ready"
 * when it has connected. SIGTERM closes its client, and it ends when that is done.
 */
export interface RecipeUserSettings {
  readonly port: number;
  readonly watchdogMs?: number;
  /** How much its wall clock is ahead. Default: 0. */
  readonly aheadMs?: number;
}

const { port, watchdogMs = 30_000, aheadMs = 0 } = settings<RecipeUserSettings>();
const [redis, plain] = [0, 1].map(() => new Redis({ host: "127.0.0.1", port, retryStrategy: () => 20 })) as [
  Redis,
  Redis,
];
for (const each of [redis, plain]) each.on("error", () => undefined);
/** Only messages and the ends of leases wake its waiters. */
const safetyPeriodMs = 3_600_000;
const holdfast = new Holdfast(ioredisDriver(redis), { watchdogMs, safetyPeriodMs });
const clock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now() + aheadMs,
  schedule(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
};

interface Fires {
  readonly name: string;
  /** Of the first fire, in milliseconds since the Unix epoch. */
  readonly firstMs: number;
  readonly count: number;
  /** A list to which each run adds its fire. Where the key with `:hold` behind it is there, a run takes it, and never ends. */
  readonly runs: string;
  /** How much faster than the clock the schedule is. */
  readonly fasterBy: number;
  /** When the schedule begins, by the clock of the machine. */
  readonly startMs: number;
}

/** Runs each fire when its clock says so, a schedule's second lasting less. */
async function runFires({ name, firstMs, count, runs, fasterBy, startMs }: Fires): Promise<object> {
  const outcomes = { ran: 0, busy: 0, done: 0, late: 0 };
  const fire = async (nth: number) => {
    const dueMs = startMs + (nth * 1_000 - aheadMs) / fasterBy;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueMs - Date.now())));
    const fireTime = firstMs + nth * 1_000;
    const once = await runOnce(
      holdfast,
      { name, fireTime, waitMs: Number.POSITIVE_INFINITY, clock },
      async () => {
        if ((await plain.incr(`${runs}:now`)) !== 1) tell("together", { fireTime });
        if ((await plain.getdel(`${runs}:hold`)) !== null) {
          tell("holding");
          await new Promise(() => undefined);
        }
        await plain.rpush(runs, fireTime);
        await plain.decr(`${runs}:now`);
      },
    );
    outcomes[once.ran ? "ran" : once.because] += 1;
  };
  await Promise.all(Array.from({ length: count }, (_, nth) => fire(nth)));
  return outcomes;
}

interface Office {
  readonly name: string;
  readonly ttlMs: number;
  /** Where leaders write their tokens. */
  readonly key: string;
}

/** Writes with the token of its term for as long as it believes in that, and looks whether the store has seen a later one. */
async function rule(key: string, { token, signal, lease }: Term): Promise<void> {
  tell("leads", { token: String(token) });
  while (!signal.aborted && lease.state === "held") {
    const latest = BigInt((await plain.get(key)) ?? 0);
    if (latest > token && lease.state === "held") tell("two-leaders", { token: String(token) });
    if (latest < token) await plain.set(key, String(token));
    await new Promise(setImmediate);
  }
  tell("ended", { token: String(token), reason: describe(signal.reason) });
}

interface Wanted {
  readonly name: string;
  readonly callers: number;
  /** A load waits until this key is there. */
  readonly until: string;
}

/** Many callers want one value, which Redis keeps. */
async function fetchMany({ name, callers, until }: Wanted): Promise<unknown> {
  const value = `${name}:value`;
  const get = () =>
    singleFlight(holdfast, name, {
      read: async () => (await plain.get(value)) ?? undefined,
      load: async () => {
        const loads = await plain.incr(`${name}:loads`);
        if ((await plain.incr(`${name}:now`)) !== 1) tell("together");
        tell("loading");
        while ((await plain.exists(until)) === 0) await new Promise(setImmediate);
        await plain.decr(`${name}:now`);
        return `made by load ${loads}`;
      },
      write: (made) => plain.set(value, made),
      waitMs: Number.POSITIVE_INFINITY,
    });
  return [...new Set(await Promise.all(Array.from({ length: callers }, get)))];
}

let standing: Promise<void> | undefined;
const stopListening = obey({
  runFires: async (fires: object) => ({ event: "fired", ...(await runFires(fires as Fires)) }),
  stand: (office: object) => {
    const { name, ttlMs, key } = office as Office;
    const onError = (error: unknown) => tell("leader-error", { error: describe(error) });
    standing = leader(holdfast, { name, ttlMs, pauseMs: 50, onError }, (term) => rule(key, term));
    return { event: "standing" };
  },
  fetchMany: async (wanted: object) => ({ event: "fetched", values: await fetchMany(wanted as Wanted) }),
  exit,
});

async function exit(): Promise<{ event: string }> {
  await holdfast.close({ graceMs: 10_000 });
  await standing;
  stopListening();
  redis.disconnect();
  plain.disconnect();
  return { event: "closed" };
}
process.once("SIGTERM", () => void exit());

await Promise.all([redis.ping(), plain.ping()]);
tell("ready", { clientId: holdfast.clientId });
