import { describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import { halfOpen } from "../support/faults/proxy-faults.js";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";

const redis = locksOnRedis();
const KEY = "order:7";
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const unavailable = { code: "ERR_HOLDFAST_UNAVAILABLE" };

describe("a server that is full [R28]", () => {
  async function whileFull(body: () => Promise<void>): Promise<void> {
    await redis.plain.config("SET", "maxmemory", "1");
    try {
      await expect(redis.plain.set("anything", "1")).rejects.toThrow("OOM");
      await body();
    } finally {
      await redis.plain.config("SET", "maxmemory", "0");
    }
  }

  test("still releases a lock [R28]", async () => {
    const lease = await redis.holdfast().getLock(KEY).lock();
    await whileFull(() => lease.unlock());
    expect(await redis.plain.exists(KEY)).toBe(0);
  });

  test("still releases an inner hold [R28]", async () => {
    const lock = redis.holdfast().getLock(KEY);
    const outer = await lock.lock({ leaseMs: MINUTE_MS });
    const inner = await lock.lock({ leaseMs: HOUR_MS, threadId: outer.threadId });
    await whileFull(() => inner.unlock());
    expect(await redis.plain.hgetall(KEY)).toEqual({ [outer.holder]: "1" });
    expect(await redis.plain.pttl(KEY)).toBeLessThanOrEqual(MINUTE_MS);
    await outer.unlock();
  });

  test("still renews [R28]", async () => {
    const lease = await redis.holdfast({ watchdogMs: 1_500 }).getLock(KEY).lock();
    const { signal } = lease;
    await whileFull(async () => {
      // Twice as long as the lease would last by itself.
      const untilMs = performance.now() + 3_000;
      await until(() => performance.now() > untilMs || signal.aborted);
    });
    expect([lease.state, await redis.plain.hget(KEY, lease.holder)]).toEqual(["held", "1"]);
    await lease.unlock();
  });

  test("still lets a lock be forced open [R28]", async () => {
    const lock = redis.holdfast().getLock(KEY);
    await lock.lock();
    await whileFull(async () => expect(await lock.forceUnlock()).toBe(true));
    expect(await redis.plain.exists(KEY)).toBe(0);
  });

  test("gives no lock, says why at once, and gives it again when it has room [R28]", async () => {
    const holdfast = redis.holdfast();
    const lock = holdfast.getLock(KEY);
    await whileFull(async () => {
      const message = expect.stringMatching(/: OOM command not allowed when used memory > 'maxmemory'\./);
      const refused = { ...unavailable, outcomeUnknown: false, message, cause: { code: "OOM" } };
      await expect(lock.tryLock()).rejects.toMatchObject(refused);
      await expect(lock.lock()).rejects.toMatchObject(refused);
      await expect(lock.using(() => undefined)).rejects.toMatchObject(refused);
      expect(await lock.isLocked()).toBe(false);
    });
    await lock.using(async () => expect(await lock.isLocked()).toBe(true));
  });

  test("lets the outer hold be when it refuses an entry once more [R28]", async () => {
    const lock = redis.holdfast().getLock(KEY);
    const outer = await lock.lock();
    await whileFull(async () => {
      await expect(lock.lock({ threadId: outer.threadId })).rejects.toMatchObject(unavailable);
    });
    expect([outer.state, await redis.plain.hgetall(KEY)]).toEqual(["held", { [outer.holder]: "1" }]);
    await outer.unlock();
  });
});

describe("a server that forgets its scripts", () => {
  test("is told them again in the middle of work", async () => {
    const holdfast = redis.holdfast({ watchdogMs: 1_500 });
    const lock = holdfast.getLock(KEY);
    const flush = () => redis.plain.script("FLUSH");
    await lock.using(() => undefined);
    await flush();
    const outer = await lock.lock();
    await flush();
    const inner = await lock.lock({ threadId: outer.threadId });
    expect(await redis.plain.hgetall(KEY)).toEqual({ [outer.holder]: "2" });
    await flush();
    await inner.unlock();
    await until(() => outer.remainingMs() < 1_100);
    await flush();
    await until(() => outer.remainingMs() > 1_300 || outer.state !== "held");
    expect(outer.state).toBe("held");
    await flush();
    expect(await lock.getHoldCount(outer.threadId)).toBe(1);
    await flush();
    await outer.unlock();
    expect(await redis.plain.exists(KEY)).toBe(0);
  });

  test("is told them again while a hundred tasks take turns", async () => {
    const clients = [redis.holdfast(), redis.holdfast()];
    let inside = 0;
    let turns = 0;
    const turn = (holdfast: Holdfast) =>
      holdfast.getLock(KEY).using(async () => {
        inside += 1;
        expect(inside).toBe(1);
        if (turns % 5 === 0) await redis.plain.script("FLUSH");
        turns += 1;
        inside -= 1;
      });
    await Promise.all(clients.flatMap((client) => Array.from({ length: 50 }, () => turn(client))));
    expect(turns).toBe(100);
  });
});

describe("a connection over which nothing comes any more", () => {
  test("ends every call within the command timeout, and all is well when it is back [R31]", async () => {
    const proxy = await redis.proxy();
    const { holdfast, redis: connection } = redis.connect({ commandTimeoutMs: 400 }, { port: proxy.port });
    const lock = holdfast.getLock(KEY);
    const lease: Lease = await holdfast.getLock("held").lock({ leaseMs: MINUTE_MS });
    proxy.inject(halfOpen());
    expect(connection.status).toBe("ready");
    const startMs = performance.now();
    const calls = [
      lock.lock(),
      lock.tryLock(),
      lock.tryLock({ waitMs: HOUR_MS }),
      lock.using(() => undefined),
      lock.isLocked(),
      lock.remainTimeToLive(),
      lock.forceUnlock(),
      holdfast.inspect(KEY),
      lease.unlock(),
    ];
    for (const [at, outcome] of (await Promise.allSettled(calls)).entries()) {
      // Those that stand in line behind the first have sent nothing themselves.
      const outcomeUnknown = at !== 2 && at !== 3;
      expect(outcome).toMatchObject({ status: "rejected", reason: { ...unavailable, outcomeUnknown } });
    }
    // Ten times as long as they may take, for the sake of busy machines.
    expect(performance.now() - startMs).toBeLessThan(4_000);
    await proxy.heal();
    await lock.using(() => undefined);
    await until(async () => (await redis.plain.exists("held")) === 0);
  });

  test("loses a lease that can not be renewed when its time is up, and says that the server is the reason [R31] [wire-S15]", async () => {
    const proxy = await redis.proxy();
    const holdfast = redis.holdfast({ watchdogMs: 900, commandTimeoutMs: 200 }, { port: proxy.port });
    const lease = await holdfast.getLock(KEY).lock();
    const { signal } = lease;
    proxy.inject(halfOpen());
    await until(() => signal.aborted);
    expect(signal.reason).toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST", reason: "unreachable" });
    expect([lease.state, lease.remainingMs()]).toEqual(["lost", 0]);
    await expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
    await proxy.heal();
    await until(async () => (await redis.plain.exists(KEY)) === 0);
  });

  test("does not keep a waiter from being cancelled or from running out of time [R31]", async () => {
    await redis.plain.hset(KEY, "somebody", "1");
    const proxy = await redis.proxy();
    const holdfast = redis.holdfast({ commandTimeoutMs: 5_000, safetyPeriodMs: 100 }, { port: proxy.port });
    const lock = holdfast.getLock(KEY);
    const cancel = new AbortController();
    const cancelled = lock.lock({ signal: cancel.signal });
    const late = lock.tryLock({ waitMs: 500 });
    await until(async () => (await redis.plain.pubsub("CHANNELS")).length > 0);
    proxy.inject(halfOpen());
    const startMs = performance.now();
    // The first in line asks again after the safety period, and gets no answer.
    await until(() => proxy.connections.some(({ owed }) => owed > 0));
    expect(await late).toBeNull();
    cancel.abort(new Error("changed my mind"));
    await expect(cancelled).rejects.toThrow("changed my mind");
    expect(performance.now() - startMs).toBeLessThan(5_000);
    await proxy.heal();
    await redis.plain.del(KEY);
  });
});
