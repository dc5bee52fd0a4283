import { describe, expect, test } from "vitest";
import { type CronCoordinatorOptions, cronCoordinator } from "../../src/recipes/index.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";

const redis = locksOnRedis();
const TTL_MS = 30_000;

const keyAt = (ms: number) => `nightly:${new Date(ms).toISOString()}`;

/** Coordinators of two processes. */
function fleet(options?: CronCoordinatorOptions) {
  const startMs = Math.floor(Date.now() / 1_000) * 1_000;
  const [one, other] = [redis.holdfast(), redis.holdfast()].map((holdfast) =>
    cronCoordinator(holdfast, options),
  );
  if (one === undefined || other === undefined) throw new Error("there are two");
  return { one, other, startMs };
}

const keys = async () =>
  (await redis.plain.keys("*")).filter((key) => !key.startsWith("holdfast_req")).sort();
const clear = () => redis.plain.flushall();

describe("a coordinator for node-cron", () => {
  test("lets one of all processes run a fire, and each fire", async () => {
    const { one, other, startMs } = fleet();
    for (const key of [keyAt(startMs), keyAt(startMs + 1_000)]) {
      const answers = await Promise.all([one, other, one].map((each) => each.shouldRun(key, TTL_MS)));
      expect(answers.filter(Boolean)).toHaveLength(1);
      expect(await other.shouldRun(key, TTL_MS)).toBe(false);
      await Promise.all([one, other].map((each) => each.onComplete(key)));
    }
    expect(await keys()).toEqual(
      [0, 1].map((nth) => `holdfast_once:{cron:nightly}:${startMs / 1_000 + nth}`),
    );
    await clear();
  });

  test("lets fires overlap, unless it is told not to: then a task runs once at a time in the fleet", async () => {
    for (const overlap of [true, false]) {
      const { one, other, startMs } = fleet({ overlap, prefix: "jobs:" });
      const [first, second, third] = [0, 1_000, 2_000].map((ms) => keyAt(startMs + ms)) as [
        string,
        string,
        string,
      ];
      expect(await one.shouldRun(first, TTL_MS)).toBe(true);
      expect(await redis.plain.exists("jobs:nightly")).toBe(overlap ? 0 : 1);
      expect(await other.shouldRun(second, TTL_MS)).toBe(overlap);
      await one.onComplete(first);
      expect(await other.shouldRun(first, TTL_MS)).toBe(false);
      expect(await redis.plain.exists("jobs:nightly")).toBe(0);
      expect(await other.shouldRun(third, TTL_MS)).toBe(true);
      await other.onComplete(third);
      await other.onComplete(third);
      await clear();
    }
  });

  test("keeps the lock of a task while its client is closed, for as long as the grace lasts", async () => {
    const { startMs } = fleet();
    const holdfast = redis.holdfast();
    const one = cronCoordinator(holdfast, { overlap: false });
    expect(await one.shouldRun(keyAt(startMs), TTL_MS)).toBe(true);
    const closed = holdfast.close({ graceMs: 60_000 });
    await holdfast.ping().catch(() => undefined);
    expect(await redis.plain.exists("cron:nightly")).toBe(1);
    await one.onComplete(keyAt(startMs));
    await closed;
    expect(await redis.plain.exists("cron:nightly")).toBe(0);
    await clear();
  });

  test("says so when a task has ended whose lock was lost", async () => {
    const { one, startMs } = fleet({ overlap: false });
    expect(await one.shouldRun(keyAt(startMs), TTL_MS)).toBe(true);
    await redis.plain.del("cron:nightly");
    const holdfast = redis.holdfast();
    await holdfast.getLock("cron:nightly").forceUnlock();
    // The loss is found by its release.
    await one.onComplete(keyAt(startMs)).catch((error: unknown) => {
      expect(error).toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST" });
    });
    await clear();
  });

  test("remembers any other key as it is", async () => {
    const { one, other } = fleet();
    expect(await one.shouldRun("by hand", TTL_MS)).toBe(true);
    expect(await other.shouldRun("by hand", TTL_MS)).toBe(false);
    expect(await keys()).toEqual(["holdfast_once:{cron:by hand}"]);
    await clear();
  });

  test("frees the lock of a fire that Redis refuses to mark", async () => {
    const { one, startMs } = fleet({ overlap: false });
    const marker = `holdfast_once:{cron:nightly}:${startMs / 1_000}`;
    await redis.plain.rpush(marker, "a");
    await expect(one.shouldRun(keyAt(startMs), TTL_MS)).rejects.toMatchObject({
      code: "ERR_HOLDFAST_WRONG_TYPE",
    });
    expect(await redis.plain.exists("cron:nightly")).toBe(0);
    await clear();
  });

  test.each([
    [{ prefix: 5 }, "prefix must be a string, got 5"],
    [{ overlap: "no" }, 'overlap must be true or false, got "no"'],
    [{ ttl: 5 }, 'there is no option "ttl" of cronCoordinator: prefix, overlap'],
  ])("refuses %j", (options, message) => {
    expect(() => cronCoordinator(redis.holdfast(), options as object)).toThrow(message);
  });
});
