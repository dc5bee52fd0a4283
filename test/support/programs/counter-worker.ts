import { Holdfast } from "holdfast";
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
  /** How often it counts or watches. */
  readonly times: number;
  /** False shows what goes wrong without the lock. Default: true. */
  readonly locked?: boolean;
}

const { port, lock: name, kind = "lock", counter, times, locked = true } = settings<CounterWorkerSettings>();
const [redis, plain] = [new Redis({ host: "127.0.0.1", port }), new Redis({ host: "127.0.0.1", port })];
// No server is away, but the machine may be busy.
const holdfast = new Holdfast(ioredisDriver(redis), { redMemberTimeoutMs: 3_000 });
const lock = lockOfKind(holdfast, kind, name);

async function countOnce(): Promise<void> {
  const count = Number(await plain.get(counter));
  await plain.set(counter, count + 1);
}

async function work(turn: () => Promise<void>): Promise<void> {
  for (let done = 0; done < times; done += 1) await (locked ? lock.using(turn) : turn());
}

const stopListening = obey({
  count: async () => {
    await work(countOnce);
    return { event: "counted" };
  },
  /** Looks twice each time. Answers how often the number had changed when it looked again. */
  watch: async () => {
    let changes = 0;
    await work(async () => {
      const [first, second] = [await plain.get(counter), await plain.get(counter)];
      if (first !== second) changes += 1;
    });
    return { event: "watched", changes };
  },
  /** Draws tokens under a fenced lock, and adds each to a list while it holds the lock. */
  draw: async ({ list = "" }: { list?: string }) => {
    for (let done = 0; done < times; done += 1) {
      await holdfast.getFencedLock(name).using(({ token }) => plain.rpush(list, String(token)));
    }
    return { event: "drawn" };
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
