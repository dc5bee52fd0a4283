// @ts-check
import { Holdfast } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";

/**
 * One client for the process. Next loads this module more than once: again after each change in development, and for instrumentation.js and
 * the routes apart. So the client is kept where all of them find it.
 *
 * @typedef {{ redis: Redis, holdfast: Holdfast }} Locks
 */
const kept = /** @type {{ locks?: Locks }} */ (globalThis);

/** Connects at the first call, not when the module loads: `next build` loads it as well. */
export function locks() {
  kept.locks ??= connect();
  return kept.locks;
}

/** @returns {Locks} */
function connect() {
  const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");
  redis.on("error", () => undefined); // ioredis reconnects by itself, and failing calls reject with the reason
  return { redis, holdfast: new Holdfast(ioredisDriver(redis), { commandTimeoutMs: 1_000 }) };
}
