import { redisServer } from "../support/redis-server.mjs";

/** @import { Library } from "../support/contracts.js" */
/** @import { Lock } from "redlock4" */

/** How redlock says "for ever". */
const FOR_EVER = -1;

/**
 * @param {number} [retryDelayMs] default: redlock's own, 200
 * @returns {Library}
 */
export function redlock4(retryDelayMs) {
  // The jitter in the same proportion as by default.
  const waiting =
    retryDelayMs === undefined ? {} : { retryDelay: retryDelayMs, retryJitter: retryDelayMs / 2 };
  return {
    name: retryDelayMs === undefined ? "redlock-4" : `redlock-4@${retryDelayMs}ms`,
    role: "peer",
    server: redisServer,
    packages: ["redlock4"],
    claims: { kinds: [], waits: true, renews: false },
    ...(retryDelayMs === undefined ? {} : { variant: "waiting" }),

    async open({ port }) {
      const { Redis } = await import("ioredis");
      const { default: Redlock } = await import("redlock4");
      const redlock = new Redlock([new Redis({ host: "127.0.0.1", port })], {
        retryCount: FOR_EVER,
        ...waiting,
      });
      return {
        acquire: (name, { ttlMs = 30_000 }) => redlock.acquire(name, ttlMs),
        release: (/** @type {Lock} */ lock) => lock.unlock(),
        isHeld: (/** @type {Lock} */ lock) => lock.expiration > Date.now(),
      };
    },
  };
}
