import { describe, expect, test } from "vitest";
import type { Lease } from "../../src/lease.js";
import { fencingTokenKey } from "../../src/protocol/names.js";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { startRedis } from "../support/servers/redis-server.js";
import { fakeTime } from "../support/worlds/fake-time.js";
import { kinds } from "./kinds.js";

const NOT_HELD = { code: "ERR_HOLDFAST_NOT_HELD" };
const ROUNDS = 3;

describe.each(kinds)("a lock of the kind: $name", ({ of }) => {
  const open = fakeTime();

  test("is not held any more when Redis has lost it, and renewed when it is taken anew, again and again [RedissonLockExpirationRenewalTest 1]", async () => {
    const { holdfast, server, clock, driver } = open({ watchdogMs: 1_000 });
    const lock = of(holdfast, "order");
    for (let round = 0; round < ROUNDS; round += 1) {
      const lost = await lock.lock();
      server.flush();
      await expect(lost.unlock()).rejects.toMatchObject(NOT_HELD);
      const lease = await lock.lock();
      await clock.advance(2_500);
      expect([lease.state, await lock.isLocked()]).toEqual(["held", true]);
      await lease.unlock();
      const calls = driver.sent.length;
      await clock.advance(2_500);
      expect(driver.sent.length).toBe(calls);
    }
    server.flush();
  });
});

describe("on a real server that restarts", () => {
  const redis = locksOnRedis(startRedis);
  const watchdogMs = 2_000;

  test("locks of all kinds are not held any more, and are renewed when they are taken anew [RedissonLockExpirationRenewalTest 1]", async () => {
    const { holdfast, redis: connection } = redis.connect({ watchdogMs, redMemberTimeoutMs: 3_000 });
    const locks = kinds.map(({ of }, at) => of(holdfast, `order:${at}`));
    const lost = await Promise.all(locks.map((lock) => lock.lock()));
    await redis.server.restart();
    // From here on it is the new server that is asked.
    await connection.ping();
    for (const lease of lost) await expect(lease.unlock()).rejects.toMatchObject(NOT_HELD);
    const leases = await Promise.all(locks.map((lock) => lock.lock()));
    const endMs = (lease: Lease) => performance.now() + lease.remainingMs();
    const firstEnds = leases.map(endMs);
    await until(() => leases.every((lease, at) => endMs(lease) > (firstEnds[at] ?? 0) + watchdogMs / 6));
    expect(leases.map(({ state }) => state)).toEqual(kinds.map(() => "held"));
    expect(await Promise.all(locks.map((lock) => lock.isLocked()))).toEqual(kinds.map(() => true));
    for (const lease of leases) await lease.unlock();
    await redis.plain.del(kinds.map((_, at) => fencingTokenKey(`order:${at}`)));
  });
});
