import { createRequire } from "node:module";
import { Redis } from "ioredis";
import { obey, settings, tell } from "./orders.js";

/** A process that locks by one of three libraries: redlock 4, redlock 5, or what stands in for them. Says "ready" when it has connected. */
export interface RedlockUserSettings {
  readonly port: number;
  readonly library: "redlock4" | "redlock5" | "holdfast/redlock";
}

/** What all of them have. */
interface Lock {
  unlock?(): Promise<unknown>;
  release?(): Promise<unknown>;
}
interface Library {
  acquire(resources: string[], durationMs: number): Promise<Lock>;
  quit(): Promise<unknown>;
}
type Make = new (clients: readonly Redis[], settings: object) => Library;

interface Crossings {
  readonly name: string;
  readonly times: number;
}

const { port, library } = settings<RedlockUserSettings>();
const [redis, plain] = [0, 1].map(() => new Redis({ host: "127.0.0.1", port })) as [Redis, Redis];
const found = createRequire(import.meta.url)(library) as Make | { readonly default: Make };
const Redlock = typeof found === "function" ? found : found.default;
const redlock = new Redlock([redis], { retryCount: -1, retryDelay: 2, retryJitter: 2 });

/** Crosses a bridge that carries one at a time, again and again. */
async function cross({ name, times }: Crossings): Promise<object> {
  let overlaps = 0;
  for (let nth = 0; nth < times; nth += 1) {
    const lock = await redlock.acquire([name], 60_000);
    if ((await plain.incr(`${name}:on-bridge`)) !== 1) overlaps += 1;
    await plain.decr(`${name}:on-bridge`);
    await (lock.release ?? lock.unlock)?.call(lock);
  }
  return { overlaps };
}

const stopListening = obey({
  cross: async (order: object) => ({ event: "crossed", ...(await cross(order as Crossings)) }),
  async exit() {
    await redlock.quit();
    await plain.quit();
    stopListening();
    return { event: "closed" };
  },
});
await Promise.all([redis.ping(), plain.ping()]);
tell("ready");
