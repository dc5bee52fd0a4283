import { redisServer } from "../support/redis-server.mjs";

/** @import { Library } from "../support/contracts.js" */
/** @import { IRLock } from "node-redisson" */

const RENEWALS_PER_LEASE = 3n;

/** @type {Library} */
export const nodeRedisson = {
  name: "node-redisson",
  role: "peer",
  server: redisServer,
  packages: ["node-redisson"],
  claims: { kinds: [], waits: true, renews: true },
  // Each release deletes a key by a command of its own, and the lock in the script that publishes.
  sent: ({ del = 0, publish = 0 }) => del - publish,

  async open({ port, renewEachMs }) {
    const { Redisson } = await import("node-redisson");
    const redisson = new Redisson({
      redis: { options: { host: "127.0.0.1", port } },
      lockWatchdogTimeout: BigInt(renewEachMs) * RENEWALS_PER_LEASE,
    });
    return {
      async acquire(name, { ttlMs }) {
        // Each has a client id of its own, as two tasks must have.
        const lock = redisson.getLock(name);
        await (ttlMs === undefined ? lock.lock() : lock.lock(BigInt(ttlMs)));
        return lock;
      },
      release: (/** @type {IRLock} */ lock) => lock.unlock(),
    };
  },
};
