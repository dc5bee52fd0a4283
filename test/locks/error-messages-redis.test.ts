import { createClient } from "redis";
import { describe, expect, test, vi } from "vitest";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { nodeRedisDriver } from "../../src/driver/node-redis/index.js";
import { Holdfast } from "../../src/holdfast.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { startRedis } from "../support/servers/redis-server.js";

const redis = locksOnRedis();
const commandTimeoutMs = 400;

async function messageOf(call: () => unknown): Promise<string> {
  try {
    await call();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("the call did not fail");
}

describe("a server that is not there", () => {
  test("is told with the lock, the server, the reason and the time, and nothing of our inside", async () => {
    const server = await startRedis();
    const client = server.client();
    const holdfast = new Holdfast(ioredisDriver(client), { commandTimeoutMs });
    try {
      await server.kill();
      expect(await messageOf(() => holdfast.getLock("x").lock())).toBe(
        `lock "x": redis://127.0.0.1:${server.port}/0: can not be reached ` +
          `(connect ECONNREFUSED 127.0.0.1:${server.port}), tried for ${commandTimeoutMs} ms`,
      );
    } finally {
      await holdfast.close();
      await server.stop();
    }
  });
});

describe("a server that wants a password", () => {
  test("says to give the Redis client one: ioredis and node-redis", async () => {
    const server = await startRedis({ password: "secret" });
    const open = server.client({ password: "" });
    const byIoredis = new Holdfast(ioredisDriver(open), { commandTimeoutMs });
    const nodeRedis = createClient({ url: `redis://127.0.0.1:${server.port}` });
    nodeRedis.on("error", () => undefined);
    const connecting = nodeRedis.connect().catch(() => undefined);
    const byNodeRedis = new Holdfast(nodeRedisDriver(nodeRedis), { commandTimeoutMs });
    try {
      for (const holdfast of [byIoredis, byNodeRedis]) {
        const message = await messageOf(() => holdfast.getLock("x").lock());
        expect(message).toMatch(
          /^lock "x": .*NOAUTH .*the server wants a password: give the Redis client one/,
        );
      }
    } finally {
      await Promise.all([byIoredis.close(), byNodeRedis.close()]);
      nodeRedis.destroy();
      await connecting;
      await server.stop();
    }
  });
});

describe("a server that evicts keys", () => {
  test.each(["allkeys-lru", "volatile-ttl"])(
    "is warned of once for each client: %s [own-23]",
    async (policy) => {
      const emitWarning = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
      await redis.plain.config("SET", "maxmemory-policy", policy);
      try {
        for (const holdfast of [redis.holdfast(), redis.holdfast()]) {
          await holdfast.getLock("x").using(() => undefined);
          await holdfast.getLock("y").using(() => undefined);
        }
        const { port } = redis.server;
        const warned = [
          expect.stringMatching(new RegExp(`^redis://127.0.0.1:${port}/0: maxmemory-policy is ${policy}: `)),
          { type: "HoldfastWarning", code: "HOLDFAST_EVICTION" },
        ];
        expect(emitWarning.mock.calls).toEqual([warned, warned]);
      } finally {
        await redis.plain.config("SET", "maxmemory-policy", "noeviction");
        emitWarning.mockRestore();
      }
    },
  );

  test("is not told of where it evicts nothing", async () => {
    const emitWarning = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    try {
      await redis
        .holdfast()
        .getLock("x")
        .using(() => undefined);
      expect(emitWarning).not.toHaveBeenCalled();
    } finally {
      emitWarning.mockRestore();
    }
  });
});
