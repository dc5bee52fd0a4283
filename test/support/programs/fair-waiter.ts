import { Holdfast, type Lease } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";
import { lockOfKind } from "./kind-of-lock.js";
import { obey, settings, tell } from "./orders.js";

/**
 * A process whose tasks wait for one fair lock and write down in Redis, while they have it, that they were there. Says
 * "ready" when it has connected, and "visited" for each task when it was in.
 */
export interface FairWaiterSettings {
  readonly port: number;
  readonly lock: string;
  /** Default: one that can be re-entered. */
  readonly kind?: "fair" | "non-reentrant fair";
  /** The list to which each task adds its number. */
  readonly visits: string;
}

const { port, lock: name, kind = "fair", visits } = settings<FairWaiterSettings>();
const [redis, plain] = [new Redis({ host: "127.0.0.1", port }), new Redis({ host: "127.0.0.1", port })];
const holdfast = new Holdfast(ioredisDriver(redis));
const lock = lockOfKind(holdfast, kind, name);

/** Held until the process ends. */
const kept: Lease[] = [];

const stopListening = obey({
  /** Answers when the task was in. */
  visit: async ({ task }: { task?: number }) => {
    await lock.using(() => plain.rpush(visits, String(task)));
    return { event: "visited", task };
  },
  /** Answers when the task is in, and stays there. */
  enter: async ({ task }: { task?: number }) => {
    const lease = await lock.lock();
    kept.push(lease);
    await plain.rpush(visits, String(task));
    return { event: "entered", task, holder: lease.holder };
  },
  /** Answers when all answers of Redis that had come are known. */
  listen: async () => {
    await new Promise(setImmediate);
    return { event: "listened" };
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
