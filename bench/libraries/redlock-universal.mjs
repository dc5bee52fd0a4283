import { redisServer } from "../support/redis-server.mjs";

/** @import { Library } from "../support/contracts.js" */
/** @import { Lock, LockHandle } from "redlock-universal" */

/** It renews when so much of the lease has passed. */
const RENEWED_AFTER = 0.8;
/** Whatever would be renewed within a second of being taken, it renews without a pause. */
const SHORTEST_RENEWED_LEASE_MS = 1_300;

/**
 * @typedef {{ end: () => void, ended: Promise<unknown> }} Routine `using`, as long as the lock is held
 */

/**
 * @param {number} [retryDelayMs] default: its own, 100
 * @returns {Library}
 */
export function redlockUniversal(retryDelayMs) {
  return {
    name: retryDelayMs === undefined ? "redlock-universal" : `redlock-universal@${retryDelayMs}ms`,
    role: "peer",
    server: redisServer,
    packages: ["redlock-universal"],
    claims: { kinds: [], waits: true, renews: true },
    ...(retryDelayMs === undefined ? {} : { variant: "waiting" }),
    sent: ({ set = 0 }) => set,

    async open({ port, renewEachMs }) {
      const { Redis } = await import("ioredis");
      const { createLock, IoredisAdapter } = await import("redlock-universal");
      const adapter = new IoredisAdapter(new Redis({ host: "127.0.0.1", port }));
      const waiting = {
        retryAttempts: Number.MAX_SAFE_INTEGER,
        ...(retryDelayMs === undefined ? {} : { retryDelay: retryDelayMs }),
      };
      const renewedMs = Math.max(SHORTEST_RENEWED_LEASE_MS, Math.ceil(renewEachMs / RENEWED_AFTER));
      /** @type {Map<string, Lock>} a new one would look after the connection anew */
      const locks = new Map();
      return {
        async acquire(key, { ttlMs }) {
          const lock = locks.get(key) ?? createLock({ adapter, key, ttl: ttlMs ?? renewedMs, ...waiting });
          locks.set(key, lock);
          if (ttlMs === undefined) return beginRoutine(lock);
          return { lock, handle: await lock.acquire() };
        },
        release: (/** @type {{ lock: Lock, handle: LockHandle } | Routine} */ held) =>
          "end" in held ? endRoutine(held) : held.lock.release(held.handle),
        isHeld: (/** @type {{ handle: LockHandle }} */ { handle }) =>
          handle.acquiredAt + handle.ttl > Date.now(),
      };
    },
  };
}

/**
 * Only `using` renews.
 *
 * @param {Lock} lock
 * @returns {Promise<Routine>}
 */
function beginRoutine(lock) {
  return new Promise((resolve, reject) => {
    const ended = lock.using(() => {
      return new Promise((end) => resolve({ end: () => end(undefined), ended }));
    });
    ended.catch(reject);
  });
}

/** @param {Routine} routine */
function endRoutine({ end, ended }) {
  end();
  return ended;
}
