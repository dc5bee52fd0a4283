import { randomUUID } from "node:crypto";
import { redisServer } from "../support/redis-server.mjs";
import { COMPARE_AND_DELETE } from "./raw-lua.mjs";

/** @import { Library } from "../support/contracts.js" */

/** @type {Library} */
export const rawNodeRedis = {
  name: "raw-node-redis",
  role: "raw",
  server: redisServer,
  packages: ["redis"],
  claims: { kinds: [], waits: false, renews: false },
  sent: ({ set = 0 }) => set,

  async open({ port }) {
    const { createClient } = await import("redis");
    const redis = createClient({ socket: { host: "127.0.0.1", port } });
    redis.on("error", (error) => console.error(error));
    await redis.connect();
    const sha = String(await redis.scriptLoad(COMPARE_AND_DELETE));
    return {
      async acquire(name, { ttlMs = 30_000 }) {
        const value = randomUUID();
        const reply = await redis.set(name, value, {
          expiration: { type: "PX", value: ttlMs },
          condition: "NX",
        });
        if (reply !== "OK") throw new Error(`${name} is not free`);
        return { name, value };
      },
      release: (/** @type {{ name: string, value: string }} */ { name, value }) =>
        redis.evalSha(sha, { keys: [name], arguments: [value] }),
    };
  },
};
