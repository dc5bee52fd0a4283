import { describe, expect, test } from "vitest";
import { FakeClock } from "../../src/memory/index.js";
import { waitingKey } from "../../src/protocol/names.js";
import { until } from "../support/run/until.js";
import {
  type CommandCounts,
  commandCounts,
  countedDuring,
  resetCounts,
  scriptCalls,
} from "../support/servers/command-counts.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";

const redis = locksOnRedis();

/**
 * Of a client that begins to wait for a lock whose holder does not look into its queue: the first; one that puts the client into the queue,
 * once it would hear of its turn; and one once it hears of the holder.
 */
const ATTEMPTS_TO_WAIT = 3;
const HOUR_MS = 3_600_000;
const JVM = "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:57";

/** What the scripts call inside the server. */
const acquired: CommandCounts = { time: 1, pttl: 1, hset: 1, pexpire: 1 };
const enteredAgain: CommandCounts = { time: 1, pttl: 1, type: 1, hget: 1, hset: 1, pexpire: 1 };
const refused: CommandCounts = { time: 1, type: 1, hget: 1, pttl: 1, hkeys: 1 };
const released: CommandCounts = { hdel: 1, publish: 1 };
const partlyReleased: CommandCounts = { time: 1, type: 1, hget: 1, pttl: 1, pexpire: 1, hset: 1 };

function sum(...parts: readonly CommandCounts[]): CommandCounts {
  const total: Record<string, number> = {};
  for (const part of parts) {
    for (const [name, calls] of Object.entries(part)) total[name] = (total[name] ?? 0) + calls;
  }
  return total;
}

/** A client that has met the server, so that it asks for neither its version nor its scripts any more. */
async function acquainted(options: Parameters<typeof redis.holdfast>[0] = {}) {
  const holdfast = redis.holdfast(options);
  await holdfast.getLock("acquaintance").using(async () => undefined);
  return holdfast;
}

async function heldByJvm(name: string): Promise<void> {
  await redis.plain.hset(name, JVM, "1");
  await redis.plain.pexpire(name, HOUR_MS);
}

async function calls(): Promise<number> {
  return scriptCalls(await commandCounts(redis.plain));
}

describe("nobody in the way", () => {
  test("lock and unlock cost two script calls and nothing else", async () => {
    const lock = (await acquainted()).getLock("order:7");
    const counts = await countedDuring(redis.plain, async () => (await lock.lock()).unlock());
    expect(counts).toEqual(sum({ evalsha: 2 }, acquired, released));
    const usingCounts = await countedDuring(redis.plain, () => lock.using(() => undefined));
    expect(usingCounts).toEqual(counts);
    expect(await redis.plain.pubsub("CHANNELS")).toEqual([]);
  });

  test.each([
    { groupCommit: true, calls: 2 * 3 },
    { groupCommit: false, calls: 2 * 250 },
  ])("250 locks at once cost $calls script calls with groupCommit $groupCommit", async (expected) => {
    const { groupCommit } = expected;
    const holdfast = await acquainted({ groupCommit });
    const names = Array.from({ length: 250 }, (_, i) => `order:${i}`);
    const counts = await countedDuring(redis.plain, () =>
      Promise.all(names.map((name) => holdfast.getLock(name).using(() => undefined))),
    );
    expect(scriptCalls(counts)).toBe(expected.calls);
    expect(counts).toMatchObject({ hset: 250, hdel: 250, publish: 250 });
  });

  test("the first lock of a client costs one more script call, for the server's clock and version", async () => {
    const lock = redis.holdfast().getLock("order:7");
    await redis.plain.ping();
    const counts = await countedDuring(redis.plain, () => lock.using(() => undefined));
    expect(scriptCalls(counts)).toBe(3);
  });

  test("entering again and leaving costs two script calls and nothing else", async () => {
    const holdfast = await acquainted();
    const lock = holdfast.getLock("order:7");
    await lock.using(async () => {
      await lock.using(() => undefined);
      const counts = await countedDuring(redis.plain, () => lock.using(() => undefined));
      // The TTL may be at its height still, when there is nothing to raise.
      expect([
        sum({ evalsha: 2 }, enteredAgain, partlyReleased),
        sum({ evalsha: 2 }, { ...enteredAgain, pexpire: 0 }, partlyReleased),
      ]).toContainEqual(counts);
    });
  });
});

describe("somebody in the way", () => {
  test("tryLock costs one script call and opens no subscription [B44]", async () => {
    await heldByJvm("order:7");
    const lock = (await acquainted()).getLock("order:7");
    const clientsBefore = await redis.plain.client("LIST");
    const counts = await countedDuring(redis.plain, async () => expect(await lock.tryLock()).toBeNull());
    expect(counts).toEqual(sum({ evalsha: 1 }, refused));
    expect(await redis.plain.pubsub("CHANNELS")).toEqual([]);
    expect(String(await redis.plain.client("LIST")).split("\n")).toHaveLength(
      String(clientsBefore).split("\n").length,
    );
    await redis.plain.del("order:7");
  });

  test("tryLock costs one script call also beside calls that wait", async () => {
    await heldByJvm("order:7");
    const lock = (await acquainted({ safetyPeriodMs: HOUR_MS })).getLock("order:7");
    await resetCounts(redis.plain);
    const waiting = lock.lock();
    await until(async () => (await calls()) === ATTEMPTS_TO_WAIT);
    const counts = await countedDuring(redis.plain, async () => expect(await lock.tryLock()).toBeNull());
    expect(counts).toEqual(sum({ evalsha: 1 }, refused));
    await lock.forceUnlock();
    await (await waiting).unlock();
  });

  test("200 waiters of a client cost three attempts, two subscriptions and one attempt for each safety period", async () => {
    await heldByJvm("order:7");
    const clock = new FakeClock();
    const byDefault = (await acquainted({ clock })).getLock("order:7");
    await resetCounts(redis.plain);
    // The safety period is drawn from 80 % of 5 s upwards: over once by then, and not twice.
    const crowded = crowd(byDefault, 5_500);
    await attemptsReach(ATTEMPTS_TO_WAIT, byDefault);
    await clock.advance(5_000);
    await attemptsReach(ATTEMPTS_TO_WAIT + 1, byDefault);
    await clock.advance(500);
    await crowded;
    // What takes the client out of the queue looks for the holder, too.
    await until(async () => (await redis.plain.exists(waitingKey("order:7"))) === 0);
    const counts = await commandCounts(redis.plain);
    expect(counts["subscribe"]).toBe(2);
    expect(counts["hkeys"]).toBe(ATTEMPTS_TO_WAIT + 1 + 1);
    await redis.plain.del("order:7");
  });

  test("waiting for hours costs one attempt for each safety period, however many wait", async () => {
    await heldByJvm("order:7");
    const clock = new FakeClock();
    const safetyPeriodMs = 600_000;
    // The real server answers in time of its own: while the fake one runs on, no attempt may be given up.
    const settings = { clock, safetyPeriodMs, commandTimeoutMs: HOUR_MS };
    const lock = (await acquainted(settings)).getLock("order:7");
    await resetCounts(redis.plain);
    const crowded = crowd(lock, HOUR_MS);
    await attemptsReach(ATTEMPTS_TO_WAIT, lock);
    for (let seconds = 0; seconds < 50 * 60; seconds += 10) {
      await clock.advance(10_000);
      // Its answer comes after that of an attempt, which so takes ten seconds of the fake time at most.
      await lock.isLocked();
    }
    const attempts = (await commandCounts(redis.plain))["hkeys"];
    // Each is drawn from 8 to 10 minutes.
    expect(attempts).toBeGreaterThanOrEqual(ATTEMPTS_TO_WAIT + 50 / 10);
    expect(attempts).toBeLessThanOrEqual(ATTEMPTS_TO_WAIT + 50 / 8);
    await redis.plain.pexpire("order:7", 10 * HOUR_MS);
    await clock.advance(HOUR_MS);
    await crowded;
    await redis.plain.del("order:7");
  });

  test("a waiter asks once for each lease of the holder that it saw end", async () => {
    await redis.plain.hset("order:7", JVM, "1");
    const clock = new FakeClock();
    const lock = (await acquainted({ clock, safetyPeriodMs: 10 * HOUR_MS })).getLock("order:7");
    await redis.plain.pexpire("order:7", 60_000);
    await resetCounts(redis.plain);
    const crowded = crowd(lock, HOUR_MS);
    await attemptsReach(ATTEMPTS_TO_WAIT, lock);
    await redis.plain.pexpire("order:7", 120_000);
    await clock.advance(30_000);
    await attemptsReach(ATTEMPTS_TO_WAIT, lock);
    await clock.advance(30_001);
    await attemptsReach(ATTEMPTS_TO_WAIT + 1, lock);
    await redis.plain.pexpire("order:7", 10 * HOUR_MS);
    await clock.advance(60_000);
    await attemptsReach(ATTEMPTS_TO_WAIT + 1, lock);
    await clock.advance(60_001);
    await attemptsReach(ATTEMPTS_TO_WAIT + 2, lock);
    await clock.advance(HOUR_MS);
    await crowded;
    // The client leaves the queue, which looks once at who has the lock.
    await attemptsReach(ATTEMPTS_TO_WAIT + 2 + 1, lock);
    await redis.plain.del("order:7");
  });

  /** Waits for so many refusals since the counts were reset, and for their answers; fails when there are more. */
  async function attemptsReach(attempts: number, lock: { isLocked(): Promise<boolean> }): Promise<void> {
    const attemptsNow = async () => (await commandCounts(redis.plain))["hkeys"] ?? 0;
    await until(async () => (await attemptsNow()) >= attempts);
    // Its answer comes after theirs.
    await lock.isLocked();
    expect(await attemptsNow()).toBe(attempts);
  }

  async function crowd(lock: ReturnType<ReturnType<typeof redis.holdfast>["getLock"]>, waitMs: number) {
    const outcomes = await Promise.all(Array.from({ length: 200 }, () => lock.tryLock({ waitMs })));
    expect(outcomes.every((lease) => lease === null)).toBe(true);
  }
});

describe("passing it on", () => {
  test("from one client to others costs the release and an attempt of the first two that wait, whatever their number", async () => {
    const holder = (await acquainted()).getLock("order:7");
    const rivals = await Promise.all([1, 2, 3, 4].map(() => acquainted({ safetyPeriodMs: HOUR_MS })));
    const lease = await holder.lock({ leaseMs: HOUR_MS });
    await resetCounts(redis.plain);
    const winners: string[] = [];
    const waits = rivals.flatMap((rival, i) =>
      Array.from({ length: 20 }, async () => {
        const won = await rival.getLock("order:7").lock({ leaseMs: HOUR_MS });
        winners.push(`rival ${i}`);
        return won;
      }),
    );
    // Two attempts of each client, before it stands in the queue and after; a third of the first two, once they hear of the holder, who does
    // not look there.
    await until(async () => (await calls()) === 4 * 2 + 2);
    await resetCounts(redis.plain);
    await lease.unlock();
    await until(async () => (await calls()) === 1 + 2);
    // What each client sent because of the message was sent before this question.
    await Promise.all(rivals.map((rival) => rival.getLock("order:7").isLocked()));
    const counts = await commandCounts(redis.plain);
    expect(scriptCalls(counts)).toBe(1 + 2 + 4);
    expect(counts["subscribe"]).toBeUndefined();
    expect(winners).toHaveLength(1);
    for (const wait of waits) void wait.then((won) => won.unlock());
    await Promise.all(waits);
    await until(async () => (await redis.plain.exists("order:7")) === 0);
  });

  test("a hundred times between tasks of two clients subscribes twice at most for each client, until nobody has waited for long", async () => {
    const clock = new FakeClock();
    const clients = [await acquainted({ clock }), await acquainted({ clock })];
    await resetCounts(redis.plain);
    for (let round = 0; round < 10; round += 1) {
      const tasks = clients.flatMap((client) =>
        Array.from({ length: 5 }, () => client.getLock("order:7").using(() => undefined)),
      );
      let isOver = false;
      const all = Promise.all(tasks).finally(() => {
        isOver = true;
      });
      // A call that asks when the one before it leaves is handed nothing, and its client leaves the lock to the other for 5 ms.
      await until(async () => clock.advance(1).then(() => isOver));
      await all;
      await clock.advance(900);
    }
    const counts = await commandCounts(redis.plain);
    // Of the ten of a round, five of a client follow each other before the lock is free for the others.
    expect(counts["publish"]).toBeLessThan(100);
    expect(counts["subscribe"]).toBeGreaterThan(0);
    expect(counts["subscribe"]).toBeLessThanOrEqual(2 * 2);
    expect(counts["unsubscribe"]).toBeUndefined();
    await clock.advance(10_100);
    await until(async () => (await redis.plain.pubsub("CHANNELS")).length === 0);
    expect((await commandCounts(redis.plain))["unsubscribe"]).toBe(counts["subscribe"]);
  });
});

describe("tasks of one client that take turns", () => {
  test("cost a third of a script call each at most, and enter in order", async () => {
    const lock = (await acquainted()).getLock("order:7");
    const [asked, entered]: [number[], number[]] = [[], []];
    const counts = await countedDuring(redis.plain, () =>
      Promise.all(
        Array.from({ length: 64 }, async (_, task) => {
          for (let round = 0; round < 10; round += 1) {
            asked.push(task);
            await lock.using(() => entered.push(task));
          }
        }),
      ),
    );
    expect(scriptCalls(counts)).toBeLessThanOrEqual(640 * 0.3);
    expect(entered).toHaveLength(640);
    expect(entered).toEqual(asked);
  });
});

describe("the watchdog", () => {
  test("renews 5,000 locks in 50 script calls, and asks for nothing in between", async () => {
    const clock = new FakeClock();
    const holdfast = await acquainted({ clock });
    const leases = await Promise.all(
      Array.from({ length: 5_000 }, (_, i) => holdfast.getLock(`order:${i}`).lock()),
    );
    const lowered = redis.plain.pipeline();
    for (let i = 0; i < leases.length; i += 1) lowered.pexpire(`order:${i}`, 20_000);
    await lowered.exec();
    await resetCounts(redis.plain);
    await clock.advance(9_900);
    expect(await commandCounts(redis.plain)).toEqual({});
    await clock.advance(200);
    await until(async () => (await calls()) >= 50);
    // Behind the renewals on the same connection.
    expect(await holdfast.getLock("order:4999").remainTimeToLive()).toBeGreaterThan(20_000);
    const counts = await commandCounts(redis.plain);
    expect(scriptCalls(counts)).toBe(50 + 1);
    expect(counts["pexpire"]).toBe(5_000);
    const ttls = redis.plain.pipeline();
    for (let i = 0; i < leases.length; i += 1) ttls.pttl(`order:${i}`);
    const answers = await ttls.exec();
    expect(answers?.every(([, ttlMs]) => Number(ttlMs) > 20_000)).toBe(true);
    await Promise.all(leases.map((lease) => lease.unlock()));
  });

  test("asks for nothing when nothing is held", async () => {
    const clock = new FakeClock();
    const holdfast = await acquainted({ clock });
    const lease = await holdfast.getLock("order:7").lock();
    await lease.unlock();
    const fixed = await holdfast.getLock("order:7").lock({ leaseMs: HOUR_MS });
    expect(await countedDuring(redis.plain, () => clock.advance(60_000))).toEqual({});
    expect(clock.pendingTimers).toBe(0);
    await fixed.unlock();
  });
});
