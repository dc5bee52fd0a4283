import { describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/holdfast.js";
import { destroyClient } from "../support/clients/ioredis-clients.js";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { startRedis } from "../support/servers/redis-server.js";

const redis = locksOnRedis(startRedis);
const KEY = "order:7";
/** What is to happen at once may not need any of these. */
const patient = { commandTimeoutMs: 3_600_000, safetyPeriodMs: 3_600_000 };
const unavailable = { code: "ERR_HOLDFAST_UNAVAILABLE", message: expect.stringContaining("has ended") };

async function expectEverythingFails(holdfast: Holdfast): Promise<void> {
  const lock = holdfast.getLock(KEY);
  const calls = [
    lock.lock(),
    lock.tryLock(),
    lock.using(() => "never"),
    lock.isLocked(),
    lock.forceUnlock(),
    holdfast.inspect(KEY),
  ];
  for (const call of await Promise.allSettled(calls)) {
    expect(call).toMatchObject({ status: "rejected", reason: { ...unavailable, outcomeUnknown: false } });
  }
}

describe("when the Redis client below has ended for good", () => {
  test.each(["quit", "disconnect"] as const)("by %s(), every call is rejected at once", async (end) => {
    const { holdfast, redis: client } = redis.connect(patient);
    const lease = await holdfast.getLock(KEY).lock();
    await client[end]();
    await until(() => client.status === "end");
    await expectEverythingFails(holdfast);
    await expect(lease.unlock()).rejects.toMatchObject(unavailable);
    await redis.plain.del(KEY);
  });

  test("by quit() before the first call, so it is too", async () => {
    const { holdfast, redis: client } = redis.connect(patient);
    const left = client.quit();
    await expect(holdfast.getLock(KEY).using(() => "never")).rejects.toMatchObject(unavailable);
    await left;
  });

  test("in the body of using, the body's result is kept though nothing can be released", async () => {
    const { holdfast, redis: client } = redis.connect(patient);
    const result = holdfast.getLock(KEY).using(async () => {
      await client.quit();
      return "done";
    });
    expect(await result).toBe("done");
    await redis.plain.del(KEY);
  });

  test("by its retryStrategy, calls say why there is no connection", async () => {
    await redis.server.kill();
    const { holdfast } = redis.connect(patient, { retryStrategy: () => null });
    await expect(holdfast.getLock(KEY).using(() => "never")).rejects.toMatchObject({
      code: "ERR_HOLDFAST_UNAVAILABLE",
      message: expect.stringMatching(/has ended.*ECONNREFUSED/),
      cause: { code: "ECONNREFUSED" },
    });
    await redis.server.restart();
  });

  test("a call under way is rejected, though ioredis forgets it, and its outcome is unknown", async () => {
    const { holdfast, redis: client } = redis.connect(patient);
    await holdfast.getLock(KEY).using(() => undefined);
    await redis.server.pause();
    const call = holdfast.getLock(KEY).lock();
    const refused = expect(call).rejects.toMatchObject({ ...unavailable, outcomeUnknown: true });
    await destroyClient(client);
    await refused;
    redis.server.resume();
    await redis.plain.flushall();
  });
});

describe("when Redis is down", () => {
  test("a call that found nobody in its time says why, with the error of the Redis client", async () => {
    await redis.server.kill();
    const holdfast = redis.holdfast({ commandTimeoutMs: 300 });
    await expect(holdfast.getLock(KEY).lock()).rejects.toMatchObject({
      code: "ERR_HOLDFAST_UNAVAILABLE",
      message: expect.stringMatching(/can not be reached \(.*ECONNREFUSED.*\), tried for 300 ms$/),
      cause: { code: "ECONNREFUSED" },
      outcomeUnknown: false,
    });
    await redis.server.restart();
  });
});
