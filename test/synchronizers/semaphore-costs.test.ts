import { afterEach, describe, expect, test } from "vitest";
import type { Semaphore } from "../../src/index.js";
import { FakeClock } from "../../src/memory/index.js";
import { until } from "../support/run/until.js";
import { commandCounts, countedDuring, resetCounts, scriptCalls } from "../support/servers/command-counts.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { PERMITS_CHANNEL } from "../support/worlds/permits.js";

const redis = locksOnRedis();
afterEach(() => redis.plain.del("s"));

const HOUR_MS = 3_600_000;
/** The hash of answers of a client lives for so long after its last call. */
const ANSWERS_MS = 72_000;

/** A client that has met the server and its scripts, so that it asks for neither its version nor them any more. */
async function acquainted(options: Parameters<typeof redis.holdfast>[0] = {}): Promise<Semaphore> {
  const semaphore = redis.holdfast(options).getSemaphore("s");
  await semaphore.trySetPermits(1);
  await semaphore.addPermits(1);
  await semaphore.using(() => undefined);
  await semaphore.releaseIfExists();
  await semaphore.drainPermits();
  await semaphore.availablePermits();
  await semaphore.delete();
  return semaphore;
}

async function calls(): Promise<number> {
  return scriptCalls(await commandCounts(redis.plain));
}

/** What a client sent, without what scripts called inside the server. */
async function costOf(body: () => Promise<unknown>): Promise<object> {
  const counts = await countedDuring(redis.plain, body);
  const { subscribe = 0, publish = 0 } = counts;
  return { scripts: scriptCalls(counts), subscribe, publish };
}

function costing(scripts: number, publish = 0) {
  return { scripts, subscribe: 0, publish };
}

describe("with permits enough", () => {
  test("each call costs one script call and nothing else", async () => {
    const semaphore = await acquainted();
    expect(await costOf(() => semaphore.trySetPermits(5))).toEqual(costing(1, 1));
    expect(await costOf(() => semaphore.trySetPermits(5))).toEqual(costing(1));
    expect(await costOf(() => semaphore.acquire())).toEqual(costing(1));
    expect(await costOf(() => semaphore.acquire(2, { waitMs: 1_000 }))).toEqual(costing(1));
    expect(await costOf(() => semaphore.tryAcquire())).toEqual(costing(1));
    expect(await costOf(() => semaphore.release())).toEqual(costing(1, 1));
    expect(await costOf(() => semaphore.releaseIfExists(2))).toEqual(costing(1, 1));
    expect(await costOf(() => semaphore.using(2, () => undefined))).toEqual(costing(2, 1));
    expect(await costOf(() => semaphore.addPermits(-2))).toEqual(costing(1, 1));
    expect(await costOf(() => semaphore.availablePermits())).toEqual(costing(1));
    expect(await costOf(() => semaphore.drainPermits())).toEqual(costing(1));
    expect(await costOf(() => semaphore.delete())).toEqual(costing(1));
    expect(await redis.plain.pubsub("CHANNELS")).toEqual([]);
  });

  test("no permits at all cost nothing", async () => {
    const semaphore = await acquainted();
    const cost = await costOf(async () => {
      await semaphore.acquire(0);
      await semaphore.tryAcquire(0);
      await semaphore.release(0);
      await semaphore.releaseIfExists(0);
    });
    expect(cost).toEqual(costing(0));
  });

  test("the first call of a client costs one more, for the server's clock and version", async () => {
    const semaphore = redis.holdfast().getSemaphore("s");
    await redis.plain.set("s", 1);
    expect(await costOf(() => semaphore.using(() => undefined))).toEqual(costing(3, 1));
  });

  test("a hundred callers at once cost two script calls each", async () => {
    const semaphore = await acquainted();
    await semaphore.trySetPermits(100);
    const cost = await costOf(() =>
      Promise.all(Array.from({ length: 100 }, () => semaphore.using(() => undefined))),
    );
    expect(cost).toEqual(costing(200, 100));
  });
});

describe("without permits", () => {
  test("tryAcquire costs one script call and opens no subscription [B44]", async () => {
    const semaphore = await acquainted();
    await semaphore.trySetPermits(0);
    const cost = await costOf(async () => expect(await semaphore.tryAcquire()).toBe(false));
    expect(cost).toEqual(costing(1));
    expect(await redis.plain.pubsub("CHANNELS")).toEqual([]);
  });

  test("200 waiters cost two attempts and one subscription, for each number of permits that is wanted", async () => {
    const clock = new FakeClock();
    const semaphore = await acquainted({ clock, safetyPeriodMs: HOUR_MS, commandTimeoutMs: HOUR_MS });
    await semaphore.trySetPermits(0);
    await resetCounts(redis.plain);
    const ones = Array.from({ length: 200 }, () => semaphore.tryAcquire(1, { waitMs: HOUR_MS }));
    await until(async () => (await calls()) === 2);
    const twos = Array.from({ length: 200 }, () => semaphore.tryAcquire(2, { waitMs: HOUR_MS }));
    // They hear the channel already.
    await until(async () => (await calls()) === 3);
    expect(await commandCounts(redis.plain)).toMatchObject({ subscribe: 1 });
    await redis.plain.incrby("s", 200);
    await resetCounts(redis.plain);
    await redis.plain.publish(PERMITS_CHANNEL, "200");
    await until(async () => Number(await redis.plain.get("s")) === 0);
    // Behind whatever was sent.
    await semaphore.availablePermits();
    // Each of those that entered, and whoever was refused at the end of either line, once.
    expect(await calls()).toBeLessThanOrEqual(200 + 2 + 1);
    await redis.plain.incrby("s", 600);
    await redis.plain.publish(PERMITS_CHANNEL, "600");
    expect(new Set(await Promise.all([...ones, ...twos]))).toEqual(new Set([true]));
  });

  test("waiting for hours costs one attempt for each safety period, however many wait", async () => {
    const clock = new FakeClock();
    const safetyPeriodMs = 600_000;
    // The real server answers in time of its own: while the fake one runs on, no attempt may be given up.
    const semaphore = await acquainted({ clock, safetyPeriodMs, commandTimeoutMs: HOUR_MS });
    await semaphore.trySetPermits(0);
    await resetCounts(redis.plain);
    const waiting = Array.from({ length: 200 }, () => semaphore.tryAcquire({ waitMs: HOUR_MS }));
    await until(async () => (await calls()) === 2);
    for (let seconds = 0; seconds < 3_600; seconds += 10) {
      await clock.advance(10_000);
      await redis.plain.ping();
    }
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([false]));
    const attempts = await calls();
    // Each period is drawn from 80 % upwards.
    expect(attempts).toBeGreaterThanOrEqual(2 + 5);
    expect(attempts).toBeLessThanOrEqual(2 + 8);
  });

  test("the first release to many clients costs an attempt of each, and the losers one more and a subscription; each next one wakes one of them", async () => {
    const holder = await acquainted();
    // However busy the machine is: nothing is given up and sent again, and the first does not begin to hear what all hear.
    const patient = { clock: new FakeClock() };
    // One after the other: each deletes the semaphore at the end, under whoever would still wait for a permit.
    const rivals = [await acquainted(patient), await acquainted(patient), await acquainted(patient)];
    await holder.trySetPermits(1);
    await holder.acquire();
    await resetCounts(redis.plain);
    let entered = 0;
    const visits = rivals.flatMap((rival) =>
      Array.from({ length: 20 }, async () => {
        await rival.acquire();
        entered += 1;
      }),
    );
    await until(async () => (await calls()) === 6);
    await resetCounts(redis.plain);
    await holder.release();
    await until(async () => (await calls()) === 4 + 2);
    // What each client sent because of the message was sent before this question.
    await Promise.all(rivals.map((rival) => rival.availablePermits()));
    expect(await calls()).toBe(1 + 3 + 2 + 3);
    expect(await commandCounts(redis.plain)).toMatchObject({ subscribe: 2 });
    await until(() => entered > 0);
    expect(entered).toBe(1);
    // One of the losers listens to what all hear, as the first of the queue, and so does the winner, of which others wait.
    for (let passed = 1; passed < 40; passed += 1) {
      await holder.release();
      await until(() => entered === passed + 1);
    }
    await Promise.all(rivals.map((rival) => rival.availablePermits()));
    await resetCounts(redis.plain);
    for (let passed = 40; passed < 50; passed += 1) {
      await holder.release();
      await until(() => entered === passed + 1);
    }
    await Promise.all(rivals.map((rival) => rival.availablePermits()));
    // A release, and the question that is granted.
    expect((await calls()) - 3).toBe(20);
    await holder.release(10);
    await Promise.all(visits);
  });
});

describe("what a client leaves in Redis", () => {
  test("is a hash of its latest answers, small and short-lived however much it has called", async () => {
    await redis.plain.flushall();
    const semaphore = await acquainted();
    await semaphore.trySetPermits(5);
    for (let i = 0; i < 50; i++) await semaphore.using(() => undefined);
    await Promise.all(Array.from({ length: 50 }, () => semaphore.using(() => undefined)));
    await semaphore.using(() => undefined);
    await semaphore.delete();
    const keys = await redis.plain.keys("*");
    expect(keys).toEqual([expect.stringMatching(/^holdfast_req:\{s\}:[-0-9a-f]{36}$/)]);
    for (const key of keys) {
      expect(await redis.plain.hlen(key)).toBeLessThanOrEqual(5);
      const ttlMs = await redis.plain.pttl(key);
      expect(ttlMs).toBeGreaterThan(0);
      expect(ttlMs).toBeLessThanOrEqual(ANSWERS_MS);
    }
  });

  test("has no channel that nobody has needed for ten seconds", async () => {
    const clock = new FakeClock();
    const semaphores = [await acquainted({ clock }), await acquainted({ clock })];
    await semaphores[0]?.trySetPermits(1);
    await resetCounts(redis.plain);
    for (let round = 0; round < 5; round += 1) {
      const tasks = semaphores.flatMap((own) => Array.from({ length: 5 }, () => own.using(() => undefined)));
      await Promise.all(tasks);
      await clock.advance(900);
    }
    const counts = await commandCounts(redis.plain);
    const { subscribe = 0, unsubscribe = 0 } = counts;
    // Of what all hear and its own one for each client; what all hear, once more where a client has stood behind another.
    expect(subscribe).toBeLessThanOrEqual(4 + 2);
    // Its own channel stays open for each.
    expect(subscribe - unsubscribe).toBeGreaterThanOrEqual(2);
    expect(subscribe - unsubscribe).toBeLessThanOrEqual(4);
    await clock.advance(10_100);
    await until(async () => (await redis.plain.pubsub("CHANNELS")).length === 0);
  });
});
