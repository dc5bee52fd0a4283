import { setMaxListeners } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { FakeClock } from "../../src/memory/index.js";
import { until } from "../support/run/until.js";
import { commandCounts, resetCounts, scriptCalls } from "../support/servers/command-counts.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { EXPIRIES, type PermitExpirableSemaphore, type Permits } from "../support/worlds/permit-time.js";

const redis = locksOnRedis();
afterEach(() => redis.plain.del("a", EXPIRIES));

const HOUR_MS = 3_600_000;

/** The semaphore of a client that has met the server, so that it asks for neither its version nor its scripts any more. */
async function acquainted(
  options: Parameters<typeof redis.holdfast>[0] = {},
): Promise<PermitExpirableSemaphore> {
  const holdfast = redis.holdfast(options);
  const semaphore = holdfast.getPermitExpirableSemaphore("acquaintance");
  await semaphore.trySetPermits(1);
  await semaphore.using({ watchdog: true }, () => undefined);
  await semaphore.delete();
  return holdfast.getPermitExpirableSemaphore("a");
}

async function calls(): Promise<number> {
  return scriptCalls(await commandCounts(redis.plain));
}

/** Does something that costs one script call, and nothing else but so many messages. */
async function oneCall<T>(body: () => Promise<T>, messages = 0): Promise<T> {
  await resetCounts(redis.plain);
  const result = await body();
  const counts = await commandCounts(redis.plain);
  const { subscribe = 0, publish = 0 } = counts;
  expect({ calls: scriptCalls(counts), subscribe, publish }).toEqual({
    calls: 1,
    subscribe: 0,
    publish: messages,
  });
  return result;
}

async function serverMs(): Promise<number> {
  const [seconds, microseconds] = await redis.plain.time();
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}

describe("one script call each", () => {
  test("are an acquisition and a release, of one permit or many, with any lease", async () => {
    const semaphore = await acquainted();
    await semaphore.trySetPermits(200);
    const takes: (() => Promise<Permits | null>)[] = [
      () => semaphore.acquire(),
      () => semaphore.acquire(100, { leaseMs: HOUR_MS }),
      () => semaphore.acquire({ watchdog: true }),
      () => semaphore.tryAcquire(3),
    ];
    for (const take of takes) {
      const permits = await oneCall(take);
      await oneCall(async () => permits?.release(), 1);
    }
    const { ids } = await semaphore.acquire(3);
    await oneCall(() => semaphore.release(ids), 1);
  });

  test("is an attempt that is refused, also beside calls that wait [B44]", async () => {
    const semaphore = await acquainted({ safetyPeriodMs: HOUR_MS });
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire({ leaseMs: HOUR_MS });
    await oneCall(async () => expect(await semaphore.tryAcquire()).toBeNull());
    await resetCounts(redis.plain);
    const waiting = semaphore.acquire();
    await until(async () => (await calls()) === 2);
    await oneCall(async () => expect(await semaphore.tryAcquire()).toBeNull());
    await permits.release();
    await waiting;
  });

  test("are all questions and settings", async () => {
    const semaphore = await acquainted();
    await oneCall(() => semaphore.trySetPermits(5), 1);
    const { ids } = await semaphore.acquire(2);
    const asked: readonly [() => Promise<unknown>, number][] = [
      [() => semaphore.availablePermits(), 0],
      [() => semaphore.acquiredPermits(), 0],
      [() => semaphore.getPermits(), 0],
      [() => semaphore.getLeaseTime(ids[0] ?? ""), 0],
      // They were permanent: waiters are told that they end.
      [() => semaphore.updateLeaseTime(ids, HOUR_MS), 1],
      [() => semaphore.addPermits(2), 1],
      [() => semaphore.setPermits(9), 1],
      [() => semaphore.tryRelease(ids), 1],
      [() => semaphore.delete(), 0],
    ];
    for (const [ask, messages] of asked) await oneCall(ask, messages);
  });

  test("is the renewal of a hundred semaphores", async () => {
    const clock = new FakeClock();
    const holdfast = redis.holdfast({ clock });
    const all: Permits[] = [];
    for (let i = 0; i < 100; i++) {
      const semaphore = holdfast.getPermitExpirableSemaphore(`s${i}`);
      await semaphore.trySetPermits(3);
      all.push(await semaphore.acquire(3, { watchdog: true }));
    }
    // What was leased in the very millisecond of its renewal has the end that the renewal would write.
    const leasedMs = await serverMs();
    await until(async () => (await serverMs()) > leasedMs);
    await resetCounts(redis.plain);
    await clock.advance(10_100);
    await until(async () => (await calls()) >= 1);
    // Behind the renewal on the same connection.
    await holdfast.getPermitExpirableSemaphore("s0").availablePermits();
    const counts = await commandCounts(redis.plain);
    expect([scriptCalls(counts), counts["zadd"]]).toEqual([1 + 1, 300]);
    await clock.advance(0);
    await Promise.all(all.map((permits) => permits.release()));
    await redis.plain.del(...Array.from({ length: 100 }, (_, i) => `s${i}`));
  });
});

describe("waiting", () => {
  test("costs a client with 200 tasks two attempts and one subscription, and one attempt for each that a release lets in", async () => {
    const [holder, waiter] = [await acquainted(), await acquainted({ safetyPeriodMs: HOUR_MS })];
    await holder.trySetPermits(3);
    const { ids } = await holder.acquire(3, { leaseMs: HOUR_MS });
    await resetCounts(redis.plain);
    let inside = 0;
    const leaving = new AbortController();
    setMaxListeners(0, leaving.signal);
    const tasks = Array.from({ length: 200 }, () =>
      waiter.acquire({ signal: leaving.signal }).then(
        () => {
          inside += 1;
        },
        () => undefined,
      ),
    );
    await until(async () => (await calls()) === 2);
    expect((await commandCounts(redis.plain))["subscribe"]).toBe(1);
    await resetCounts(redis.plain);
    await holder.release(ids);
    await until(() => inside === 3);
    // Its answer comes after those of what was sent before.
    await waiter.availablePermits();
    // The release, one for each that entered, and at most one that finds nothing left; and the question.
    expect(await calls()).toBeLessThanOrEqual(1 + 3 + 1 + 1);
    leaving.abort(new Error("enough"));
    await Promise.all(tasks);
  });

  test("for a lease to end costs one attempt when it does", async () => {
    const [holder, waiter] = [await acquainted(), await acquainted({ safetyPeriodMs: HOUR_MS })];
    await holder.trySetPermits(1);
    await holder.acquire({ leaseMs: 300 });
    await resetCounts(redis.plain);
    await waiter.acquire();
    const counts = await commandCounts(redis.plain);
    expect(counts["subscribe"]).toBe(1);
    // The first attempt; the second once messages arrive; and when the lease ends, to the millisecond.
    expect(scriptCalls(counts)).toBeLessThanOrEqual(4);
  });
});
