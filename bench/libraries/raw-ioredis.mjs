import { randomUUID } from "node:crypto";
import { redisServer } from "../support/redis-server.mjs";
import { COMPARE_AND_DELETE } from "./raw-lua.mjs";

/** @import { Library } from "../support/contracts.js" */

/**
 * What one would write by hand: `SET NX PX`, and a script that deletes the key if it is still ours.
 *
 * @type {Library}
 */
export const rawIoredis = {
  name: "raw-ioredis",
  role: "raw",
  server: redisServer,
  packages: ["ioredis"],
  claims: { kinds: [], waits: false, renews: false },
  sent: ({ set = 0 }) => set,

  async open({ port }) {
    const { Redis } = await import("ioredis");
    const redis = new Redis({ host: "127.0.0.1", port });
    const sha = String(await redis.script("LOAD", COMPARE_AND_DELETE));
    return {
      async acquire(name, { ttlMs = 30_000 }) {
        const value = randomUUID();
        const reply = await redis.set(name, value, "PX", ttlMs, "NX");
        if (reply !== "OK") throw new Error(`${name} is not free`);
        return { name, value };
      },
      release: (/** @type {{ name: string, value: string }} */ { name, value }) =>
        redis.evalsha(sha, 1, name, value),
    };
  },
};
