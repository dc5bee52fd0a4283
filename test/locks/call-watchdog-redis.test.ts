import { expect, test } from "vitest";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";

const redis = locksOnRedis();

/** The TTLs of keys in Redis, each with how far below its lease it may be. */
async function ttlsOf(keys: readonly string[]): Promise<readonly number[]> {
  return Promise.all(keys.map((key) => redis.plain.pttl(key)));
}

test("the TTL that a call asks for is that of its key in Redis, is renewed there, and outlasts a longer one beside it", async () => {
  const holdfast = redis.holdfast();
  const leases = [
    await holdfast.getLock("a").lock({ watchdogMs: 1_700 }),
    await holdfast.getFairLock("b").lock({ watchdogMs: 7_000 }),
    await holdfast.getReadWriteLock("c").readLock().lock({ watchdogMs: 100_000 }),
    await holdfast.getLock("d").lock(),
  ];
  const rungsMs = [1_000, 5_000, 60_000, 30_000];
  const ttls = await ttlsOf(["a", "b", "c", "d"]);
  for (const [at, rungMs] of rungsMs.entries()) {
    expect(ttls[at]).toBeLessThanOrEqual(rungMs);
    // The time of the test itself.
    expect(ttls[at]).toBeGreaterThan(rungMs === 1_000 ? 0 : rungMs - 5_000);
  }
  const { signal } = leases[0] ?? {};
  const firstEndMs = performance.now() + 1_000;
  await until(() => performance.now() > firstEndMs + 1_000);
  expect([signal?.aborted, await redis.plain.pttl("a")]).toEqual([false, expect.any(Number)]);
  expect(await redis.plain.pttl("a")).toBeGreaterThan(0);
  for (const lease of leases) await lease.unlock();
});
