import { randomUUID } from "node:crypto";
import { redisServer } from "../support/redis-server.mjs";

/** @import { Library } from "../support/contracts.js" */

/** Takes the lock, or a place in its queue. */
const TAKE = `
if redis.call("EXISTS", KEYS[1]) == 0 then
  redis.call("HSET", KEYS[1], ARGV[1], 1)
  redis.call("PEXPIRE", KEYS[1], ARGV[2])
  return 1
end
redis.call("RPUSH", KEYS[2], ARGV[1])
return 0`;

/** Writes the next in line into the lock, and tells it. */
const PASS_ON = `
redis.call("DEL", KEYS[1])
local next = redis.call("LPOP", KEYS[2])
if next then
  redis.call("HSET", KEYS[1], next, 1)
  redis.call("PEXPIRE", KEYS[1], ARGV[1])
  redis.call("PUBLISH", string.match(next, "^[^:]+"), next)
end`;

/**
 * A sketch of a lock that its release grants to the next in line, with nothing that makes one safe: how fast a
 * message can get from one process to another through Redis.
 *
 * @type {Library}
 */
export const grantProbe = {
  name: "grant-probe",
  role: "raw",
  server: redisServer,
  packages: ["ioredis"],
  claims: { kinds: ["fair"], waits: true, renews: false },

  async open({ port }) {
    const { Redis } = await import("ioredis");
    const redis = new Redis({ host: "127.0.0.1", port });
    const subscriber = redis.duplicate();
    const client = randomUUID();
    let takes = 0;
    /** @type {Map<string, () => void>} */
    const waiting = new Map();
    subscriber.on("message", (_, holder) => waiting.get(holder)?.());
    await subscriber.subscribe(client);
    const takeSha = String(await redis.script("LOAD", TAKE));
    const passOnSha = String(await redis.script("LOAD", PASS_ON));
    return {
      async acquire(name, { ttlMs = 30_000 }) {
        takes += 1;
        const holder = `${client}:${takes}`;
        const granted = new Promise((resolve) => waiting.set(holder, () => resolve(undefined)));
        if ((await redis.evalsha(takeSha, 2, name, `${name}:queue`, holder, ttlMs)) !== 1) await granted;
        waiting.delete(holder);
        return { name, ttlMs };
      },
      release: (/** @type {{ name: string, ttlMs: number }} */ { name, ttlMs }) =>
        redis.evalsha(passOnSha, 2, name, `${name}:queue`, ttlMs),
    };
  },
};
