import { randomUUID } from "node:crypto";
import { redisServer } from "../support/redis-server.mjs";
import { COMPARE_AND_DELETE, SET_IF_FREE } from "./raw-lua.mjs";

/** @import { Library } from "../support/contracts.js" */

/**
 * The same as the raw pair, both as scripts: what a lock that has to do more than SET can cost at the least.
 *
 * @type {Library}
 */
export const rawScripts = {
  name: "raw-scripts",
  role: "raw",
  server: redisServer,
  packages: ["ioredis"],
  claims: { kinds: [], waits: false, renews: false },

  async open({ port }) {
    const { Redis } = await import("ioredis");
    const redis = new Redis({ host: "127.0.0.1", port });
    const setSha = String(await redis.script("LOAD", SET_IF_FREE));
    const deleteSha = String(await redis.script("LOAD", COMPARE_AND_DELETE));
    return {
      async acquire(name, { ttlMs = 30_000 }) {
        const value = randomUUID();
        const reply = await redis.evalsha(setSha, 1, name, value, ttlMs);
        if (reply !== "OK") throw new Error(`${name} is not free`);
        return { name, value };
      },
      release: (/** @type {{ name: string, value: string }} */ { name, value }) =>
        redis.evalsha(deleteSha, 1, name, value),
    };
  },
};
