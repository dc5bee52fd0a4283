import { Holdfast, type Lease } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";
import { type KindOfLock, lockOfKind } from "./kind-of-lock.js";
import { obey, settings, tell } from "./orders.js";

/**
 * A process that counts: it reads a number from Redis, adds one and writes it back, which loses counts when somebody
 * else does the same meanwhile; or that watches others count. Each time under the lock, unless told otherwise. Says
 * "ready" when it has connected.
 */
export interface CounterWorkerSettings {
  readonly port: number;
  readonly lock: string;
  /** Default: a plain lock. */
  readonly kind?: KindOfLock;
  readonly counter: string;
  /** A list to which the token of each turn of a fenced lock is added. */
  readonly tokens?: string;
  /** How often it counts or watches. Default: until `forMs` have passed. */
  readonly times?: number;
  /** For how long it does so, in milliseconds. */
  readonly forMs?: number;
  /** How many tasks do so side by side. Default: 1. */
  readonly tasks?: number;
  /** False shows what goes wrong without the lock. Default: true. */
  readonly locked?: boolean;
}

const {
  port,
  lock: name,
  kind = "lock",
  counter,
  tokens,
  times = Number.POSITIVE_INFINITY,
  forMs = Number.POSITIVE_INFINITY,
  tasks = 1,
  locked = true,
} = settings<CounterWorkerSettings>();
const [redis, plain] = [new Redis({ host: "127.0.0.1", port }), new Redis({ host: "127.0.0.1", port })];
// No server is away, but the machine may be busy.
const holdfast = new Holdfast(ioredisDriver(redis), { redMemberTimeoutMs: 3_000 });
const lock = lockOfKind(holdfast, kind, name);

async function countOnce(lease?: Lease): Promise<void> {
  const count = Number(await plain.get(counter));
  if (tokens !== undefined && lease !== undefined && "token" in lease) {
    await plain.rpush(tokens, String(lease.token));
  }
  await plain.set(counter, count + 1);
}

/** Answers how often the turn was done, by all tasks together. */
async function work(turn: (lease?: Lease) => Promise<void>): Promise<number> {
  const untilMs = performance.now() + forMs;
  let done = 0;
  const task = async () => {
    for (let own = 0; own < times && performance.now() < untilMs; own += 1) {
      await (locked ? lock.using(turn) : turn());
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: tasks }, task));
  return done;
}

const stopListening = obey({
  count: async () => ({ event: "counted", times: await work(countOnce) }),
  /** Looks twice each time. Answers how often the number had changed when it looked again. */
  watch: async () => {
    let changes = 0;
    const watched = await work(async () => {
      const [first, second] = [await plain.get(counter), await plain.get(counter)];
      if (first !== second) changes += 1;
    });
    return { event: "watched", times: watched, changes };
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
