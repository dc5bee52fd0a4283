import { redisServer } from "../support/redis-server.mjs";

/** @import { Library } from "../support/contracts.js" */

/**
 * What many programs still do. Unsafe: who dies between the two commands leaves a lock for ever, and who is late
 * deletes another's lock.
 *
 * @type {Library}
 */
export const rawSetnx = {
  name: "raw-setnx",
  role: "raw",
  server: redisServer,
  packages: ["ioredis"],
  claims: { kinds: [], waits: false, renews: false },
  sent: ({ setnx = 0, pexpire = 0, del = 0 }) => setnx + pexpire + del,

  async open({ port }) {
    const { Redis } = await import("ioredis");
    const redis = new Redis({ host: "127.0.0.1", port });
    return {
      async acquire(name, { ttlMs = 30_000 }) {
        if ((await redis.setnx(name, "1")) !== 1) throw new Error(`${name} is not free`);
        await redis.pexpire(name, ttlMs);
        return name;
      },
      release: (/** @type {string} */ name) => redis.del(name),
    };
  },
};
