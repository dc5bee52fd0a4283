import { describe, expect, test } from "vitest";
import { until } from "../support/run/until.js";
import { commandCounts, countedDuring, resetCounts, scriptCalls } from "../support/servers/command-counts.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";

const redis = locksOnRedis();

/** A client that has met the server and its scripts, so that it asks for neither its version nor them any more. */
async function acquainted() {
  const latch = redis.holdfast({ safetyPeriodMs: 3_600_000 }).getCountDownLatch("l");
  await latch.trySetCount(1);
  await latch.countDown();
  await latch.getCount();
  await latch.delete();
  return latch;
}

async function costOf(body: () => Promise<unknown>): Promise<object> {
  const counts = await countedDuring(redis.plain, body);
  const { subscribe = 0, publish = 0 } = counts;
  return { scripts: scriptCalls(counts), subscribe, publish };
}

function costing(scripts: number, publish = 0) {
  return { scripts, subscribe: 0, publish };
}

describe("a latch", () => {
  test("costs one script call for each call and nothing else, also for waiting when it is open", async () => {
    const latch = await acquainted();
    expect(await costOf(() => latch.await())).toEqual(costing(1));
    expect(await costOf(() => latch.await({ waitMs: 1_000 }))).toEqual(costing(1));
    expect(await costOf(() => latch.trySetCount(3))).toEqual(costing(1, 1));
    expect(await costOf(() => latch.trySetCount(3))).toEqual(costing(1));
    expect(await costOf(() => latch.getCount())).toEqual(costing(1));
    expect(await costOf(() => latch.await({ waitMs: 0 }))).toEqual(costing(1));
    expect(await costOf(() => latch.countDown())).toEqual(costing(1));
    expect(await costOf(() => latch.delete())).toEqual(costing(1, 1));
    expect(await redis.plain.pubsub("CHANNELS")).toEqual([]);
  });

  test("costs each client with 100 waiters two questions and one subscription, and one question at the end", async () => {
    const opener = await acquainted();
    const clients = [await acquainted(), await acquainted()];
    await opener.trySetCount(1);
    await resetCounts(redis.plain);
    const waiting = clients.flatMap((latch) => Array.from({ length: 100 }, () => latch.await()));
    await until(async () => scriptCalls(await commandCounts(redis.plain)) >= 4);
    await Promise.all(clients.map((latch) => latch.getCount()));
    const { subscribe, ...rest } = await commandCounts(redis.plain);
    expect([subscribe, scriptCalls(rest)]).toEqual([2, 4 + 2]);
    await resetCounts(redis.plain);
    await opener.countDown();
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([true]));
    await Promise.all(clients.map((latch) => latch.getCount()));
    expect(scriptCalls(await commandCounts(redis.plain))).toBeLessThanOrEqual(1 + 2 + 2);
  });
});
