import { redisServer } from "../support/redis-server.mjs";

/** @import { Library } from "../support/contracts.js" */
/** @import { Lock } from "redlock5" */

/** How redlock says "for ever". */
const FOR_EVER = -1;
const RENEWALS_PER_LEASE = 3;

/**
 * @typedef {{ end: () => void, ended: Promise<unknown> }} Routine `using`, as long as the lock is held
 */

/**
 * @param {number} [retryDelayMs] default: redlock's own, 200
 * @returns {Library}
 */
export function redlock5(retryDelayMs) {
  // The jitter in the same proportion as by default.
  const waiting =
    retryDelayMs === undefined ? {} : { retryDelay: retryDelayMs, retryJitter: retryDelayMs / 2 };
  return {
    name: retryDelayMs === undefined ? "redlock-5" : `redlock-5@${retryDelayMs}ms`,
    role: "peer",
    server: redisServer,
    packages: ["redlock5"],
    claims: { kinds: [], waits: true, renews: true },
    ...(retryDelayMs === undefined ? {} : { variant: "waiting" }),

    async open({ port, renewEachMs }) {
      const { Redis } = await import("ioredis");
      const { default: Redlock } = await import("redlock5");
      const redlock = new Redlock([new Redis({ host: "127.0.0.1", port })]);
      // Of an acquisition only: a release that is refused would be tried for ever as well.
      const patience = { retryCount: FOR_EVER, ...waiting };
      return {
        acquire: (name, { ttlMs }) =>
          ttlMs === undefined
            ? beginRoutine(redlock, name, renewEachMs, patience)
            : redlock.acquire([name], ttlMs, patience),
        release: (/** @type {Lock | Routine} */ held) =>
          "end" in held ? endRoutine(held) : redlock.release(held),
        isHeld: (/** @type {Lock} */ lock) => lock.expiration > Date.now(),
      };
    },
  };
}

/**
 * Only `using` renews.
 *
 * @param {import("redlock5").default} redlock
 * @param {string} name
 * @param {number} renewEachMs
 * @param {object} patience
 * @returns {Promise<Routine>}
 */
function beginRoutine(redlock, name, renewEachMs, patience) {
  const leaseMs = renewEachMs * RENEWALS_PER_LEASE;
  const settings = { ...patience, automaticExtensionThreshold: leaseMs - renewEachMs };
  return new Promise((resolve, reject) => {
    const ended = redlock.using([name], leaseMs, settings, () => {
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
