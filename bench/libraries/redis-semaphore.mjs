import { redisServer } from "../support/redis-server.mjs";

/** @import { Library } from "../support/contracts.js" */
/** @import { Mutex } from "redis-semaphore" */

const RENEWALS_PER_LEASE = 3;

/** @type {Library} */
export const redisSemaphore = {
  name: "redis-semaphore",
  role: "peer",
  server: redisServer,
  packages: ["redis-semaphore"],
  claims: { kinds: [], waits: true, renews: true },
  sent: ({ set = 0 }) => set,

  async open({ port, renewEachMs }) {
    const { Redis } = await import("ioredis");
    const { Mutex } = await import("redis-semaphore");
    const redis = new Redis({ host: "127.0.0.1", port });
    return {
      async acquire(name, { ttlMs }) {
        const mutex = new Mutex(redis, name, {
          lockTimeout: ttlMs ?? renewEachMs * RENEWALS_PER_LEASE,
          refreshInterval: ttlMs === undefined ? renewEachMs : 0,
          acquireTimeout: Number.MAX_SAFE_INTEGER,
          // By default a lost lock ends the process.
          onLockLost: () => undefined,
        });
        await mutex.acquire();
        return mutex;
      },
      release: (/** @type {Mutex} */ mutex) => mutex.release(),
      isHeld: (/** @type {Mutex} */ mutex) => mutex.isAcquired,
    };
  },
};
