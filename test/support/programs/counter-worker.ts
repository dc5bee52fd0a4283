import { Holdfast } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";
import { type KindOfLock, lockOfKind } from "./kind-of-lock.js";
import { obey, settings, tell } from "./orders.js";

/**
 * A process that counts: it reads a number from Redis, adds one and writes it back, which loses counts when somebody
 * else does the same meanwhile. Each time under the lock, unless told otherwise. Says "ready", and begins with "count".
 */
export interface CounterWorkerSettings {
  readonly port: number;
  readonly lock: string;
  /** Default: a plain lock. */
  readonly kind?: KindOfLock;
  readonly counter: string;
  /** How often it counts. */
  readonly times: number;
  /** False shows that counts are lost without the lock. Default: true. */
  readonly locked?: boolean;
}

const { port, lock: name, kind = "lock", counter, times, locked = true } = settings<CounterWorkerSettings>();
const [redis, plain] = [new Redis({ host: "127.0.0.1", port }), new Redis({ host: "127.0.0.1", port })];
const holdfast = new Holdfast(ioredisDriver(redis));
const lock = lockOfKind(holdfast, kind, name);

async function countOnce(): Promise<void> {
  const count = Number(await plain.get(counter));
  await plain.set(counter, count + 1);
}

const stopListening = obey({
  count: async () => {
    for (let done = 0; done < times; done += 1) await (locked ? lock.using(countOnce) : countOnce());
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
