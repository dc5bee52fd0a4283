import { describe, expect, test } from "vitest";
import { Holdfast } from "../../src/holdfast.js";
import { FakeClock } from "../../src/memory/index.js";
import { type LockOptions, rungOf } from "../../src/options.js";
import { AgreeingDriver } from "../support/drivers/agreeing-driver.js";
import { deliverLate, loseReply, neverDeliver } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";
import { got, KEY, microtasks, scenes, scripts } from "../support/worlds/hand-off-scene.js";

watchLeaks();
const open = fakeTime();
const scene = scenes(open);

const TICK_MS = 100;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

test("watchdogMs of a call is rounded down to a ladder", () => {
  const ladder: readonly (readonly [given: number, rung: number])[] = [
    [1_000, 1_000],
    [1_999, 1_000],
    [2_000, 2_000],
    [4_999, 2_000],
    [5_000, 5_000],
    [19_999, 10_000],
    [20_000, 20_000],
    [30_000, 30_000],
    [59_999, 30_000],
    [MINUTE_MS, MINUTE_MS],
    [2 * MINUTE_MS, 2 * MINUTE_MS],
    [5 * MINUTE_MS - 1, 2 * MINUTE_MS],
    [5 * MINUTE_MS, 5 * MINUTE_MS],
    [10 * MINUTE_MS, 10 * MINUTE_MS],
    [20 * MINUTE_MS, 20 * MINUTE_MS],
    [30 * MINUTE_MS, 30 * MINUTE_MS],
    [HOUR_MS - 1, 30 * MINUTE_MS],
    [HOUR_MS, HOUR_MS],
    [3 * HOUR_MS, 2 * HOUR_MS],
    [6 * HOUR_MS, 6 * HOUR_MS],
    [12 * HOUR_MS, 12 * HOUR_MS],
    [24 * HOUR_MS, 24 * HOUR_MS],
  ];
  expect(ladder.map(([given]) => [given, rungOf(given)])).toEqual(ladder);
});

describe("a hold with a watchdogMs of its own", () => {
  test.each([
    ["shorter than the client's", 1_500, 1_000],
    ["longer than the client's", 150_000, 120_000],
  ])("that is %s has that TTL, and is renewed each third of it", async (_, watchdogMs, rungMs) => {
    const { holdfast, clock, driver, ttlMs } = open();
    const lease = await holdfast.getLock("a").lock({ watchdogMs });
    expect(ttlMs("a")).toBe(rungMs);
    await clock.advance(rungMs / 3 - 1);
    expect(driver.timesOf("lock-renew")).toEqual([]);
    await clock.advance(10 * (rungMs / 3 + TICK_MS));
    const times = driver.timesOf("lock-renew");
    expect(times.length).toBeGreaterThanOrEqual(10);
    for (const [i, atMs] of times.entries()) {
      expect(atMs).toBeGreaterThanOrEqual((rungMs / 3) * (i + 1));
      expect(atMs).toBeLessThanOrEqual((rungMs / 3 + TICK_MS) * (i + 1));
    }
    expect(ttlMs("a")).toBeGreaterThan((2 * rungMs) / 3 - 2 * TICK_MS);
    expect(lease.state).toBe("held");
    await lease.unlock();
  });

  test.each([1_000, 5_000, 30_000, MINUTE_MS])(
    "of %i ms is lost in time when no renewal is answered",
    async (watchdogMs) => {
      const { holdfast, clock, driver, ttlMs } = open();
      const lease = await holdfast.getLock("a").lock({ watchdogMs });
      const { signal } = lease;
      for (let i = 0; i < 200; i += 1) void driver.next(neverDeliver, "lock-renew");
      const trustedMs = watchdogMs - 2 - watchdogMs / 100;
      await clock.advance(trustedMs - 1);
      expect([signal.aborted, ttlMs("a")]).toEqual([false, watchdogMs - trustedMs + 1]);
      await clock.advance(1);
      expect(signal.reason).toMatchObject({ reason: "unreachable", heldMs: trustedMs });
      expect(ttlMs("a")).toBeGreaterThan(0);
      expect(driver.timesOf("lock-renew").length).toBeGreaterThanOrEqual(3);
    },
  );

  test("outlives a renewal whose reply is lost, and a late copy of it does no harm", async () => {
    const { holdfast, clock, driver, ttlMs } = open();
    const lock = holdfast.getLock("a");
    const lease = await lock.lock({ watchdogMs: 1_000 });
    void driver.next(loseReply, "lock-renew");
    await clock.advance(5_000);
    expect(lease.state).toBe("held");
    const late = deliverLate();
    void driver.next(late, "lock-renew");
    await clock.advance(400);
    await lease.unlock();
    const next = await lock.lock({ leaseMs: 700 });
    await late.arrive();
    expect(ttlMs("a")).toBeLessThanOrEqual(700);
    expect(next.state).toBe("held");
    await next.unlock();
  });

  test("ends by maxHoldMs all the same", async () => {
    const { holdfast, clock } = open();
    const lease = await holdfast.getLock("a").lock({ watchdogMs: 2_000, maxHoldMs: 5_000 });
    const { signal } = lease;
    await clock.advance(4_900);
    expect(signal.aborted).toBe(false);
    await clock.advance(100);
    expect(signal.reason).toMatchObject({ reason: "max-hold" });
  });

  test("is what using, tryLock and asThread have as well, and each member of a joint lock", async () => {
    const { holdfast, ttlMs } = open();
    const options = { watchdogMs: 5_000 };
    const names = ["a", "b", "c"] as const;
    const [a, b, c] = names.map((name) => holdfast.getLock(name)) as [never, never, never];
    const ttls = () => names.map(ttlMs);
    const lock = holdfast.getLock("a");
    expect(await lock.using(options, () => ttlMs("a"))).toBe(5_000);
    expect(await lock.tryUsing(options, () => ttlMs("a"))).toEqual({ ran: true, value: 5_000 });
    await (await lock.tryLock(options))?.unlock();
    await holdfast.asThread(async () => {
      await lock.lock(options);
      expect(ttlMs("a")).toBe(5_000);
      await lock.unlock();
    });
    expect(await holdfast.getMultiLock(a, b, c).using(options, ttls)).toEqual([5_000, 5_000, 5_000]);
    expect(await holdfast.getRedLock(a, b, c).using(options, ttls)).toEqual([5_000, 5_000, 5_000]);
  });

  test.each(["getFairLock", "getFencedLock", "getSpinLock", "getNonReentrantLock"] as const)(
    "is kept alive by its own beat: %s",
    async (kind) => {
      const { holdfast, clock, ttlMs, server } = open();
      const lease = await holdfast[kind]("a").lock({ watchdogMs: 2_000 });
      expect(ttlMs("a")).toBe(2_000);
      await clock.advance(10_000);
      expect(lease.state).toBe("held");
      await lease.unlock();
      server.command("DEL", "redisson_lock_token:{a}");
    },
  );

  test("may be the client's own, and is renewed with the others then", async () => {
    const { holdfast, clock, driver } = open();
    const leases = [
      await holdfast.getLock("a").lock({ watchdogMs: 30_000 }),
      await holdfast.getLock("b").lock(),
    ];
    await clock.advance(10_200);
    expect(driver.timesOf("lock-renew")).toHaveLength(1);
    for (const lease of leases) await lease.unlock();
  });

  test("leaves no timer behind once it is released, and none when the client is closed", async () => {
    const { holdfast, clock } = open();
    const lock = holdfast.getLock("a");
    await (await lock.lock({ watchdogMs: 5_000 })).unlock();
    await clock.advance(5_000);
    expect(clock.pendingTimers).toBe(0);
    const lease = await lock.lock({ watchdogMs: 5_000 });
    const { signal } = lease;
    const closed = watched(holdfast.close());
    await clock.advance(0);
    expect([closed.outcome, clock.pendingTimers]).toEqual([{ value: undefined }, 0]);
    expect(signal.reason).toMatchObject({ reason: "closed" });
  });
});

describe("a read lock", () => {
  test("is renewed by the shorter of its watchdogMs and the fleet's", async () => {
    const { holdfast, clock, driver, ttlMs } = open({ fleetWatchdogMs: 6_000 });
    const read = holdfast.getReadWriteLock("a").readLock();
    const lease = await read.lock({ watchdogMs: 3_000 });
    await clock.advance(3_500);
    const [first = 0] = driver.timesOf("read-renew");
    expect(first).toBeLessThanOrEqual(2_000 / 3 + TICK_MS);
    expect(ttlMs("a")).toBeGreaterThan(1_000);
    await lease.unlock();
    const long = await read.lock({ watchdogMs: MINUTE_MS });
    driver.sent.length = 0;
    await clock.advance(6_500);
    expect(driver.timesOf("read-renew")).toHaveLength(3);
    expect(ttlMs("a")).toBeGreaterThan(55_000);
    await long.unlock();
  });

  test("that is entered again for shorter is renewed with the first, and neither is lost", async () => {
    const { holdfast, clock } = open();
    const read = holdfast.getReadWriteLock("a").readLock();
    for (const outer of [{}, { leaseMs: 80_000 }, { watchdogMs: MINUTE_MS }]) {
      await read.using(outer, async (first) => {
        await read.using({ watchdogMs: 1_000 }, async (second) => {
          await clock.advance(70_000);
          expect([first.state, second.state]).toEqual(["held", "held"]);
        });
      });
    }
  });
});

describe("many holds of three leases", () => {
  const COUNT = 250;
  const BEATS: readonly LockOptions[] = [{ watchdogMs: 1_000 }, { watchdogMs: 5_000 }, {}];

  async function renewals(options: readonly LockOptions[]) {
    const clock = new FakeClock();
    const driver = new AgreeingDriver(clock);
    const holdfast = new Holdfast(driver, { clock });
    const calls = options.flatMap((each, kind) =>
      Array.from({ length: COUNT }, (_, i) => holdfast.getLock(`${kind}:${i}`).lock(each)),
    );
    const leases = await Promise.all(calls);
    await clock.advance(MINUTE_MS);
    expect(leases.filter(({ state }) => state !== "held")).toEqual([]);
    await holdfast.close();
    return driver.keyCounts["lock-renew"] ?? [];
  }

  test("are renewed a hundred of a lease at a time, as in a client for each lease", async () => {
    const alone = await Promise.all(BEATS.map((options) => renewals([options])));
    // The wheel turns each 100 ms: the beats are 400, 1,700 and 10,000 ms apart.
    expect(alone.map((counts) => counts.length)).toEqual([3 * 150, 3 * 35, 3 * 6]);
    for (const counts of alone) expect(counts.slice(0, 3)).toEqual([100, 100, 50]);
    const together = await renewals(BEATS);
    expect(together).toHaveLength(alone.flat().length);
    expect(together.toSorted()).toEqual(alone.flat().toSorted());
  });
});

describe("a hold within a hold", () => {
  test("is renewed with the beat of the outer one, whatever it asks for itself [R37]", async () => {
    const { holdfast, clock, driver } = open();
    const lock = holdfast.getLock("a");
    for (const [outerMs, innerMs] of [
      [MINUTE_MS, 1_000],
      [MINUTE_MS, undefined],
      [6_000, MINUTE_MS],
    ]) {
      driver.sent.length = 0;
      const fromMs = clock.monotonicMs();
      await lock.using({ watchdogMs: outerMs }, async (outer) => {
        const signals = [outer.signal];
        await lock.using({ watchdogMs: innerMs }, async (inner) => {
          signals.push(inner.signal);
          await clock.advance(2.5 * MINUTE_MS);
          expect(inner.remainingMs()).toBeGreaterThan(outer.remainingMs() - 1);
        });
        await clock.advance(2.5 * MINUTE_MS);
        expect(signals.filter(({ aborted }) => aborted)).toEqual([]);
      });
      const beatMs = (outerMs === 6_000 ? 5_000 : MINUTE_MS) / 3;
      const most = (clock.monotonicMs() - fromMs) / beatMs;
      expect(driver.timesOf("lock-renew").length).toBeLessThanOrEqual(most);
      expect(driver.timesOf("lock-renew").length).toBeGreaterThan(0.9 * most - 1);
    }
  });

  test("does not make an outer one of a longer lease trusted for longer than Redis keeps it [R37]", async () => {
    const { holdfast, clock, driver, ttlMs } = open();
    const lock = holdfast.getLock("a");
    await lock.using({ watchdogMs: 5_000 }, async (first) => {
      await lock.using({ watchdogMs: MINUTE_MS }, async (second) => {
        await clock.advance(1_500);
        void driver.next(neverDeliver, "lock-renew");
        await lock.using(async (third) => {
          expect(ttlMs("a")).toBe(MINUTE_MS);
          await clock.advance(1_000);
          for (const lease of [first, second, third]) expect(lease.remainingMs()).toBeLessThan(ttlMs("a"));
        });
      });
    });
  });

  test("goes on when the outer one is released first", async () => {
    const { holdfast, clock, ttlMs } = open();
    const lock = holdfast.getLock("a");
    await holdfast.asThread(async () => {
      const outer = await lock.lock({ watchdogMs: MINUTE_MS });
      const inner = await lock.lock({ watchdogMs: 1_000 });
      await clock.advance(500);
      await outer.unlock();
      await clock.advance(5 * MINUTE_MS);
      expect(inner.state).toBe("held");
      expect(inner.remainingMs()).toBeLessThan(ttlMs("a"));
      await inner.unlock();
    });
  });

  test("with a fixed outer one is renewed by its own beat", async () => {
    const { holdfast, clock, driver } = open();
    const lock = holdfast.getLock("a");
    await lock.using({ leaseMs: 50_000 }, async () => {
      await lock.using({ watchdogMs: 2_000 }, async (inner) => {
        await clock.advance(10_000);
        expect(inner.state).toBe("held");
      });
    });
    expect(driver.timesOf("lock-renew").length).toBeGreaterThanOrEqual(13);
  });
});

describe("a lock is handed over", () => {
  const long = { watchdogMs: MINUTE_MS };
  const short = { watchdogMs: 5_000 };

  test.each([
    ["to a call of the same lease", short, short, "lock-succeed"],
    ["to a call of a longer lease", short, long, "lock-succeed"],
    ["to no call of a shorter lease", long, short, "lock-release"],
  ])("%s", async (_, held, wanted, sent) => {
    const { time, holder, waiting } = await scene([wanted], {}, held);
    void holder.unlock();
    await microtasks();
    expect(scripts(time)).toEqual([sent]);
    await time.clock.advance(0);
    const lease = got(waiting[0]);
    expect(time.ttlMs(KEY)).toBe(wanted.watchdogMs);
    await time.clock.advance(2 * MINUTE_MS);
    expect(lease.state).toBe("held");
    const released = watched(lease.unlock());
    await time.clock.advance(0);
    expect(released.outcome).toEqual({ value: undefined });
  });
});
