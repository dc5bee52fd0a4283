import { describe, expect, test } from "vitest";
import { fairTimes } from "../../src/protocol/fair-scripts.js";
import { ALIVE, kill, QUEUE, queueOf, TIMEOUTS } from "../support/models/fair-queue.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { inside, queued, rawOf, release, type Waiting } from "../support/worlds/fair-waiters.js";
import { fakeTime } from "../support/worlds/fake-time.js";
import { heldByJvm } from "../support/worlds/foreign-holder.js";
import { skewedClock } from "../support/worlds/skewed-clock.js";

watchLeaks();
const open = fakeTime();

const HOUR_MS = 60 * 60 * 1_000;
/** A sign of life is given once in so long. */
const PERIOD_MS = 1_500;
const held = { value: { state: "held" } };

function entered(waiting: readonly Waiting[]): number[] {
  return waiting.flatMap(({ lock }, i) => (lock.outcome === undefined ? [] : [i]));
}

describe("the order of a fair lock", () => {
  test("outlives a hold that is longer than the scores [wire-L6]", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const waiting = [await queued(time), await queued(time), await queued(time)];
    const order = await queueOf(rawOf(time));
    for (let minute = 0; minute < 20; minute++) {
      await time.clock.advance(60_000);
      const nowMs = time.clock.wallMs();
      for (const waiter of order)
        expect(Number(time.server.command("ZSCORE", TIMEOUTS, waiter))).toBeGreaterThan(nowMs + 300_000);
    }
    expect(await queueOf(rawOf(time))).toEqual(order);
    await lease.unlock();
    for (const [i, one] of waiting.entries()) {
      await time.clock.advance(0);
      expect(entered(waiting)).toEqual(Array.from({ length: i + 1 }, (_, at) => at));
      await release(one, time);
    }
  });

  test("does not run ahead in its scores, however long the wait and however many leave [RedissonFairLockTest 3, 6]", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    for (let round = 0; round < 30; round++) {
      const lock = time.holdfast.getFairLock("a");
      const both = [watched(lock.tryLock({ waitMs: 3_000 })), watched(lock.tryLock({ waitMs: 4_000 }))];
      await time.clock.advance(5_000);
      expect(both.map(({ outcome }) => outcome)).toEqual([{ value: null }, { value: null }]);
    }
    const last = await queued(time);
    const [, score] = time.server.command("ZRANGE", TIMEOUTS, 0, -1, "WITHSCORES") as string[];
    expect(Number(score) - time.clock.wallMs()).toBeLessThanOrEqual(30_000 + 330_000);
    await lease.unlock();
    await time.clock.advance(0);
    await release(last, time);
  });

  test("runs ahead in its scores by one wait for each place when waiters are killed, who delay the living by seconds [RedissonFairLockTest 3]", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock({ leaseMs: HOUR_MS });
    for (let round = 0; round < 10; round++) {
      const dying = await queued(time);
      await time.clock.advance(3_000);
      kill(dying);
    }
    const last = await queued(time);
    for (const [place, waiter] of (await queueOf(rawOf(time))).entries()) {
      const aheadMs = Number(time.server.command("ZSCORE", TIMEOUTS, waiter)) - time.clock.wallMs();
      expect(aheadMs).toBeLessThanOrEqual((place + 1) * 330_000);
    }
    await lease.unlock();
    // Two of them died in the last six seconds, and are given the lock for four.
    await time.clock.advance(2 * (4_000 + PERIOD_MS));
    await release(last, time);
  });

  test("is waited for as long as the caller says, to the millisecond [RedissonFairLockTest 9]", async () => {
    const time = open();
    heldByJvm(time, HOUR_MS);
    const lock = time.holdfast.getFairLock("a");
    const both = [watched(lock.lock({ waitMs: 3_000 })), watched(lock.tryLock({ waitMs: 3_000 }))];
    await time.clock.advance(2_999);
    expect(both.map(({ outcome }) => outcome)).toEqual([undefined, undefined]);
    await time.clock.advance(1);
    expect(both.map(({ outcome }) => outcome)).toMatchObject([
      { error: { code: "ERR_HOLDFAST_WAIT_TIMEOUT", waitedMs: 3_000 } },
      { value: null },
    ]);
    time.server.command("DEL", "a");
  });

  test("is waited for as long as the caller says also behind a call of its thread, whose signs of life tell that the lock is held", async () => {
    const time = open();
    heldByJvm(time, HOUR_MS);
    const lock = time.holdfast.getFairLock("a");
    const over = new AbortController();
    const first = watched(lock.lock({ threadId: 7, signal: over.signal }));
    await time.clock.advance(100);
    const second = watched(lock.lock({ threadId: 7, waitMs: 3_000 }));
    await time.clock.advance(2_999);
    const asked = time.driver.timesOf("fair-acquire").length;
    expect(second.outcome).toBeUndefined();
    await time.clock.advance(1);
    expect(second.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_WAIT_TIMEOUT", waitedMs: 3_000 } });
    expect(time.driver.timesOf("fair-acquire")).toHaveLength(asked);
    over.abort(new Error("enough"));
    await time.clock.advance(0);
    expect(first.outcome).toMatchObject({ error: { message: "enough" } });
    time.server.command("DEL", "a");
  });

  test("and its scores follow the server's clock, whatever those of the clients say [wire-S8]", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const ahead = [20 * 60_000, -20 * 60_000, 12 * HOUR_MS, -12 * HOUR_MS];
    const waiting: Waiting[] = [];
    for (const aheadMs of ahead)
      waiting.push(await queued(time, {}, time.connect({ clock: skewedClock(time.clock, aheadMs) })));
    await time.clock.advance(60_000);
    expect(await queueOf(rawOf(time))).toEqual(waiting.map(({ holder }) => holder));
    for (const { holder } of waiting) {
      const leftMs = Number(time.server.command("ZSCORE", TIMEOUTS, holder)) - time.clock.wallMs();
      expect(leftMs).toBeGreaterThan(300_000);
      expect(leftMs).toBeLessThanOrEqual(4 * 330_000);
    }
    await lease.unlock();
    await time.clock.advance(0);
    for (const [i, one] of waiting.entries()) {
      expect(entered(waiting)).toHaveLength(i + 1);
      // Its hold is its own for as long as Redis says, on a clock that is wrong.
      await time.clock.advance(5_000);
      expect(inside(waiting)).toEqual([one]);
      await release(one, time);
    }
  });

  test("is kept when a refresh finds a waiter gone: it stands in the queue again, at its end", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const waiting = [await queued(time), await queued(time), await queued(time)];
    const [first = "", second = "", third = ""] = await queueOf(rawOf(time));
    time.server.command("LREM", QUEUE, 0, first);
    await time.clock.advance(2 * PERIOD_MS);
    expect(await queueOf(rawOf(time))).toEqual([second, third, first]);
    await lease.unlock();
    await time.clock.advance(0);
    for (const at of [1, 2, 0]) {
      const one = waiting[at];
      expect(one?.lock.outcome).toMatchObject(held);
      if (one !== undefined) await release(one, time);
    }
  });
});

describe("a waiter of a fair lock that is dead", () => {
  test("delays the queue by seconds; the next is told [wire-L2] [wire-L4] [B9] [RedissonFairLockTest 7]", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const [dead, next] = [await queued(time), await queued(time)];
    kill(dead);
    await lease.unlock();
    // The dead one was given the lock: nobody could know.
    await time.clock.advance(fairTimes.grantMs - 1);
    expect(next.lock.outcome).toBeUndefined();
    await time.clock.advance(1 + PERIOD_MS + 100);
    expect(next.lock.outcome).toMatchObject(held);
    await release(next, time);
  });

  test("costs nothing once it gives no more signs of life", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const [dead, next] = [await queued(time), await queued(time)];
    kill(dead);
    await time.clock.advance(fairTimes.aliveMs + 1);
    await lease.unlock();
    await time.clock.advance(0);
    expect(next.lock.outcome).toMatchObject(held);
    expect(await queueOf(rawOf(time))).toEqual([]);
    await release(next, time);
  });

  test.each([
    ["the lock is free for whoever comes then", false],
    ["another one waits", true],
  ])("is not given the lock when it was silent for more than a minute and %s [own-103]", async (_, waits) => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    kill(await queued(time));
    await time.clock.advance(90_000);
    const next = waits ? await queued(time) : undefined;
    await lease.unlock();
    const later = next ?? (await queued(time));
    await time.clock.advance(0);
    expect(later.lock.outcome).toMatchObject(held);
    await release(later, time);
    expect(Object.keys(time.server.dump())).toEqual([]);
  });

  test("and seven more like it in a row are passed over together [R23]", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const dead: Waiting[] = [];
    for (let i = 0; i < 8; i++) dead.push(await queued(time));
    const next = await queued(time);
    for (const one of dead) kill(one);
    await lease.unlock();
    await time.clock.advance(fairTimes.aliveMs + fairTimes.grantMs + PERIOD_MS + 100);
    expect(next.lock.outcome).toMatchObject(held);
    await release(next, time);
  });

  test("at the end of the queue leaves no trace", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const dead = await queued(time);
    kill(dead);
    await time.clock.advance(60_000);
    await lease.unlock();
    await time.clock.advance(0);
    expect(Object.keys(time.server.dump())).toEqual([]);
  });
});

describe("a fair lock that nobody passes on", () => {
  test("whose key was deleted goes to the next within a period [B10]", async () => {
    const time = open();
    heldByJvm(time, HOUR_MS);
    const waiting = [await queued(time), await queued(time)];
    const order = await queueOf(rawOf(time));
    await time.clock.advance(10_000);
    time.server.command("DEL", "a");
    await time.clock.advance(PERIOD_MS + 100);
    expect(entered(waiting)).toEqual([0]);
    expect(Object.keys(time.fields("a"))).toEqual([order[0]]);
    time.server.command("DEL", "a");
    await time.clock.advance(PERIOD_MS + 100);
    expect(entered(waiting)).toEqual([0, 1]);
    await time.holdfast.getFairLock("a").forceUnlock();
  });

  test("goes on when the next one gives up instead of entering [wire-L4]", async () => {
    const time = open();
    heldByJvm(time, HOUR_MS);
    const leaving = new AbortController();
    const first = watched(time.holdfast.getFairLock("a").lock({ signal: leaving.signal }));
    await time.clock.advance(0);
    const next = await queued(time);
    time.server.command("DEL", "a");
    leaving.abort(new Error("gave up"));
    await time.clock.advance(0);
    expect(first.outcome).toMatchObject({ error: { message: "gave up" } });
    expect(next.lock.outcome).toMatchObject(held);
    await release(next, time);
  });

  test.each([1_000, 20_000])(
    "whose TTL of %i ms ends goes to the next by its own timer [B10] [RedissonFairLockTest 10]",
    async (ttlMs) => {
      const time = open();
      heldByJvm(time, ttlMs);
      const waiting = [await queued(time), await queued(time)];
      await time.clock.advance(ttlMs - 1);
      expect(entered(waiting)).toEqual([]);
      await time.clock.advance(2);
      expect(entered(waiting)).toEqual([0]);
      for (const one of waiting) await release(one, time);
    },
  );

  test("is not asked for again and again by those who are not next [wire-L1] [wire-L7]", async () => {
    const time = open();
    heldByJvm(time, HOUR_MS);
    // A JVM that is dead is next, and believed alive for as long as Redisson would.
    time.server.command("RPUSH", QUEUE, "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:58");
    const scoreMs = time.clock.wallMs() + 60_000;
    time.server.command("ZADD", TIMEOUTS, scoreMs, "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:58");
    const waiting = [await queued(time), await queued(time)];
    time.server.command("DEL", "a");
    // It comes when nobody has the lock.
    waiting.push(await queued(time));
    await time.clock.advance(60_000);
    expect(entered(waiting)).toEqual([]);
    for (const { driver } of waiting) {
      expect(driver.timesOf("fair-acquire").length).toBe(1);
      // Signs of life, and a question for each of two channels when messages begin to arrive.
      expect(driver.timesOf("fair-refresh").length).toBeLessThanOrEqual(60_000 / PERIOD_MS + 2);
    }
    await time.clock.advance(fairTimes.graceMs + PERIOD_MS + 100);
    expect(entered(waiting)).toEqual([0]);
    for (const one of waiting) await release(one, time);
  });
});

describe("the helper keys of a fair lock", () => {
  test.each([QUEUE, TIMEOUTS, ALIVE])("%s may be lost: all waiters enter [B11] [wire-L5]", async (key) => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const waiting = [await queued(time), await queued(time), await queued(time)];
    time.server.command("DEL", key);
    await lease.unlock();
    await time.clock.advance(0);
    if (key !== QUEUE) expect(entered(waiting)).toEqual([0]);
    for (let i = 0; i < waiting.length; i++) {
      await time.clock.advance(2 * PERIOD_MS);
      const [one, ...others] = inside(waiting);
      if (one === undefined) throw new Error(`nobody is in after ${i}`);
      expect(others).toEqual([]);
      await release(one, time);
    }
    if (key !== QUEUE) expect(entered(waiting)).toEqual([0, 1, 2]);
    expect(Object.keys(time.server.dump())).toEqual([]);
  });

  test("a stranger in the queue without a score is passed over in the end [wire-L5]", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    const waiting = await queued(time);
    time.server.command("DEL", QUEUE);
    time.server.command("RPUSH", QUEUE, "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:58", waiting.holder);
    await lease.unlock();
    await time.clock.advance(fairTimes.graceMs + 2 * PERIOD_MS);
    expect(waiting.lock.outcome).toMatchObject(held);
    await release(waiting, time);
  });

  test("an entry of a client of ours that was never heard of is passed over in seconds", async () => {
    const time = open();
    const lease = await time.holdfast.getFairLock("a").lock();
    time.server.command("RPUSH", QUEUE, "3f0c5f9e-6f1d-8001-9b0e-0c1d2e3f4a5b:58");
    const waiting = await queued(time);
    await lease.unlock();
    await time.clock.advance(fairTimes.grantMs + 2 * PERIOD_MS);
    expect(waiting.lock.outcome).toMatchObject(held);
    await release(waiting, time);
  });
});
