import { randomUUID } from "node:crypto";
import { redisServer } from "../support/redis-server.mjs";
import { FREE_HASH, STORE_HASH } from "./raw-lua.mjs";

/** @import { Library, OpenSettings } from "../support/contracts.js" */

/**
 * Runs scripts on a client.
 *
 * @typedef {object} ScriptRunner
 * @property {(lua: string) => Promise<string>} load resolves with its SHA-1
 * @property {(sha: string, key: string, args: string[]) => Promise<unknown>} run
 */

/** @typedef {{ name: string, value: string }} Held */

/**
 * Two scripts that store and free the hash of a lock, and do nothing that makes it safe: what one that is stored as Redisson's
 * can cost at the least.
 */
export const rawHash = rawHashOn("raw-hash", "ioredis", async ({ port }) => {
  const { Redis } = await import("ioredis");
  const redis = new Redis({ host: "127.0.0.1", port });
  return {
    load: async (lua) => String(await redis.script("LOAD", lua)),
    run: (sha, key, args) => redis.evalsha(sha, 1, key, ...args),
  };
});

export const rawHashNodeRedis = rawHashOn("raw-hash-node-redis", "redis", async ({ port }) => {
  const { createClient } = await import("redis");
  const redis = createClient({ socket: { host: "127.0.0.1", port } });
  redis.on("error", (error) => console.error(error));
  await redis.connect();
  return {
    load: (lua) => redis.scriptLoad(lua),
    run: (sha, key, args) => redis.evalSha(sha, { keys: [key], arguments: args }),
  };
});

/**
 * @param {string} name
 * @param {string} client
 * @param {(settings: OpenSettings) => Promise<ScriptRunner>} connect
 * @returns {Library}
 */
function rawHashOn(name, client, connect) {
  return {
    name,
    role: "raw",
    server: redisServer,
    packages: [client],
    claims: { kinds: [], waits: false, renews: false },

    async open(settings) {
      const { load, run } = await connect(settings);
      const [storeSha, freeSha] = [await load(STORE_HASH), await load(FREE_HASH)];
      const id = randomUUID();
      let holders = 0;
      return {
        async acquire(lock, { ttlMs = 30_000 }) {
          holders += 1;
          const value = `${id}:${holders}`;
          if ((await run(storeSha, lock, [String(ttlMs), value])) !== 1)
            throw new Error(`${lock} is not free`);
          return { name: lock, value };
        },
        release: (/** @type {Held} */ held) => run(freeSha, held.name, [held.value]),
      };
    },
  };
}
