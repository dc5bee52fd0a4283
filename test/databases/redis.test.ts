import { Redis } from "ioredis";
import { afterEach, describe, expect, test } from "vitest";
import { deposit, fenced } from "../../examples/fencing/redis.js";
import { redisCounter } from "../../examples/fencing/test/redis-counter.js";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { Holdfast } from "../../src/holdfast.js";
import { startRedis } from "../support/servers/redis-server.js";
import { describeDeposits } from "./deposits.js";
import { describeGuard } from "./guard-promises.js";
import { describeStoppedProcess } from "./stopped-process.js";
import { testedStore } from "./stores.js";

const store = testedStore({ start: startRedis, open: redisCounter });

describeGuard(store);
const clients: Redis[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.disconnect();
});
describeDeposits(() => {
  const redis = new Redis({ host: "127.0.0.1", port: store.port });
  clients.push(redis);
  return {
    deposit: (lock, cents) => deposit(lock, redis, cents),
    balance: async () => Number(await redis.get("{account:7}")),
  };
});
describeStoppedProcess({
  store: "redis",
  port: () => store.port,
  counter: store.counter,
  guarded: [{ way: "in steps", refusals: ["StaleTokenError"] }],
});

describe("a counter of tokens that Redis has lost", () => {
  test("is refused by the fence until it is set to what the fence has seen", async () => {
    const redis = new Redis({ host: "127.0.0.1", port: store.port });
    const holdfast = new Holdfast(ioredisDriver(redis));
    const name = store.freshName();
    const lock = holdfast.getFencedLock(name);
    const write = () => lock.using(({ token }) => fenced(redis, name, token, "SET", "1"));
    await fenced(redis, name, 1_041n, "SET", "1");
    await expect(write()).rejects.toMatchObject({ name: "StaleTokenError", token: 1n });
    await redis.set(`redisson_lock_token:{${name}}`, "1041");
    expect(await write()).toBe("OK");
    expect(await redis.get(`{${name}}:fence`)).toBe("1042");
    await holdfast.close();
    redis.disconnect();
  });
});
