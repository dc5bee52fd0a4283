import { describe, expect, test } from "vitest";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import { answerLate, loseReply, rejectAtOnce } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

const goodConnection: CallFault = { name: "none", meet: (deliver) => deliver() };

describe("the TTL of a lock that is held several times", () => {
  test("falls to what the outer hold needs when a longer inner one ends [R29]", async () => {
    const { holdfast, clock, ttlMs, fields } = open();
    const lock = holdfast.getLock("a");
    const outer = await lock.lock({ leaseMs: 10_000 });
    const inner = await outer.run(() => lock.lock({ leaseMs: 60_000 }));
    expect(ttlMs("a")).toBe(60_000);
    await clock.advance(1_000);
    await inner.unlock();
    expect(ttlMs("a")).toBe(9_000);
    await outer.unlock();
    expect(fields("a")).toEqual({});
  });

  test("lets others in when an outer hold that was never released runs out, not when the inner one would have [R29]", async () => {
    const { holdfast, connect, clock } = open();
    const lock = holdfast.getLock("a");
    const startMs = clock.monotonicMs();
    const outer = await lock.lock({ leaseMs: 10_000 });
    await outer.run(() => lock.using({ leaseMs: 60_000 }, () => undefined));
    let enteredMs = -1;
    const other = connect()
      .holdfast.getLock("a")
      .using(() => {
        enteredMs = clock.monotonicMs() - startMs;
      });
    await clock.advance(15_000);
    await other;
    expect(enteredMs).toBeGreaterThanOrEqual(10_000);
    expect(enteredMs).toBeLessThan(10_003);
    expect(outer.state).toBe("lost");
  });

  test("stays that of the inner hold when the outer one is released first [R29]", async () => {
    const { holdfast, clock, ttlMs, fields } = open();
    const lock = holdfast.getLock("a");
    const outer = await lock.lock({ leaseMs: 10_000 });
    const inner = await outer.run(() => lock.lock({ leaseMs: 60_000 }));
    await clock.advance(1_000);
    await outer.unlock();
    expect(ttlMs("a")).toBe(59_000);
    expect(fields("a")).toEqual({ [inner.holder]: "1" });
    expect(inner.remainingMs()).toBeCloseTo(58_398, 3);
  });

  test("does not outlive the inner hold when the outer one was lost before it [R29]", async () => {
    const { holdfast, clock, fields } = open();
    const lock = holdfast.getLock("a");
    const outer = await lock.lock({ leaseMs: 10_000 });
    const inner = await outer.run(() => lock.lock({ leaseMs: 60_000 }));
    await clock.advance(20_000);
    expect([outer.state, inner.state]).toEqual(["lost", "held"]);
    await inner.unlock();
    expect(fields("a")).toEqual({});
  });

  test("is that of the watchdog after an inner hold of an hour has ended [R29]", async () => {
    const { holdfast, clock, ttlMs } = open();
    const lock = holdfast.getLock("a");
    const outer = await lock.lock();
    await outer.run(() => lock.using({ leaseMs: 3_600_000 }, () => expect(ttlMs("a")).toBe(3_600_000)));
    expect(ttlMs("a")).toBe(30_000);
    await clock.advance(300_000);
    expect(outer.state).toBe("held");
    await outer.unlock();
  });

  test("is never lowered by a re-entry with a shorter lease [wire-S3]", async () => {
    const { holdfast, clock, ttlMs } = open();
    const lock = holdfast.getLock("a");
    const outer = await lock.lock();
    const inner = await outer.run(() => lock.lock({ leaseMs: 1_000 }));
    expect(ttlMs("a")).toBe(30_000);
    await clock.advance(5_000);
    expect([outer.state, inner.state]).toEqual(["held", "lost"]);
    expect(ttlMs("a")).toBe(25_000);
    await outer.unlock();
  });

  test("is never lowered by a renewal while a hold with a longer lease is there", async () => {
    const { holdfast, clock, ttlMs } = open();
    const lock = holdfast.getLock("a");
    const outer = await lock.lock();
    const inner = await outer.run(() => lock.lock({ leaseMs: 100_000 }));
    await clock.advance(40_000);
    expect(ttlMs("a")).toBe(60_000);
    expect(inner.remainingMs()).toBeCloseTo(58_998, 3);
    await inner.unlock();
    await outer.unlock();
  });
});

describe("the TTL of a lock whose inner release was repeated", () => {
  test("does not fall under an outer hold that is released while the clean-up of an inner one goes on [B14]", async () => {
    const { holdfast, driver, clock, fields } = open();
    const lock = holdfast.getLock("a");
    const outer = await lock.lock();
    const inner = await outer.run(() => lock.lock());
    const slow = answerLate();
    // The release, its repeat, then the clean-up behind it, which meets a broken connection and a slow answer.
    for (const fate of [loseReply, goodConnection, rejectAtOnce, slow])
      void driver.next(fate, "lock-release");
    const innerReleased = inner.unlock();
    await clock.advance(30);
    await innerReleased;
    expect(driver.timesOf("lock-release")).toEqual([0, 20, 20]);
    const outerReleased = outer.unlock();
    await clock.advance(100);
    slow.arrive();
    await outerReleased;
    expect(fields("a")).toEqual({});
  });
});

describe("an inner release that is repeated", () => {
  test("is done, and not told as stolen, when the outer hold has run out meanwhile [own-30]", async () => {
    const { holdfast, driver, clock, ttlMs } = open();
    const lock = holdfast.getLock("a");
    const outer = await lock.lock({ leaseMs: 1_000 });
    const inner = await outer.run(() => lock.lock());
    await clock.advance(985);
    void driver.next(loseReply, "lock-release");
    const released = inner.unlock();
    await clock.advance(100);
    await released;
    expect([inner.state, outer.state]).toEqual(["released", "lost"]);
    expect(ttlMs("a")).toBe(-2);
    await expect(outer.unlock()).rejects.toThrow("ran out");
  });

  test("tells nobody whose hold it took away with its own that the lock was stolen [own-52]", async () => {
    const { holdfast, driver, clock, ttlMs } = open();
    const lock = holdfast.getLock("a");
    const threadId = 7;
    const outer = await lock.lock({ leaseMs: 1_000, threadId });
    const first = await lock.lock({ threadId });
    const second = await lock.lock({ threadId });
    const third = await lock.lock({ threadId });
    await clock.advance(985);
    void driver.next(goodConnection, "lock-release");
    void driver.next(loseReply, "lock-release");
    const released = Promise.all([first.unlock(), second.unlock(), third.unlock()]);
    await clock.advance(100);
    await released;
    expect([third.state, outer.state, ttlMs("a")]).toEqual(["released", "lost", -2]);
    await expect(outer.unlock()).rejects.toThrow("ran out");
  });
});

describe("the release of one hold that is counted by that of another", () => {
  test("finds it there, though the answer to the other one was lost and the outer hold has run out [own-66]", async () => {
    const { holdfast, driver, clock, ttlMs } = open();
    const lock = holdfast.getLock("a");
    const threadId = 7;
    const outer = await lock.lock({ leaseMs: 1_000, threadId });
    const first = await lock.lock({ threadId });
    const second = await lock.lock({ threadId });
    await clock.advance(985);
    void driver.next(loseReply, "lock-release");
    const released = Promise.all([first.unlock(), second.unlock()]);
    await clock.advance(100);
    await released;
    expect([second.state, outer.state, ttlMs("a")]).toEqual(["released", "lost", -2]);
    await expect(outer.unlock()).rejects.toThrow("ran out");
  });
});

describe("a key without a TTL", () => {
  test("gets one again from a re-entry, a partial release and a renewal alike [R29]", async () => {
    const { holdfast, server, clock, ttlMs } = open();
    const lock = holdfast.getLock("a");
    const lease = await lock.lock();
    const ttlAfter = async (work: () => Promise<unknown>) => {
      server.command("PERSIST", "a");
      expect(ttlMs("a")).toBe(-1);
      await work();
      return ttlMs("a");
    };
    await lease.run(async () => {
      const inner: { unlock(): Promise<void> }[] = [];
      expect(await ttlAfter(async () => inner.push(await lock.lock()))).toBe(30_000);
      expect(await ttlAfter(async () => inner[0]?.unlock())).toBe(30_000);
      expect(await ttlAfter(() => clock.advance(10_100))).toBeGreaterThan(29_000);
    });
    await lease.unlock();
  });
});

describe("holds with and without the watchdog", () => {
  test("of one thread: the end of a fixed inner one does not end the renewal of the outer one [wire-S2]", async () => {
    const { holdfast, clock, ttlMs, fields } = open();
    const lock = holdfast.getLock("a");
    await lock.using(async (outer) => {
      await lock.using({ leaseMs: 1_000 }, () => clock.advance(500));
      await clock.advance(95_000);
      expect(outer.state).toBe("held");
      expect(ttlMs("a")).toBeGreaterThan(19_000);
      expect(fields("a")).toEqual({ [outer.holder]: "1" });
    });
  });

  test("of one thread: a fixed inner one that is lost does not end the renewal of the outer one [wire-S2]", async () => {
    const { holdfast, clock } = open();
    const lock = holdfast.getLock("a");
    await lock.using(async (outer) => {
      const inner = await lock.lock({ leaseMs: 1_000 });
      await clock.advance(95_000);
      expect([outer.state, inner.state]).toEqual(["held", "lost"]);
    });
  });

  test("of one thread: the renewal of an inner one does not extend a fixed outer one [wire-S2]", async () => {
    const { holdfast, clock, driver, fields } = open();
    const lock = holdfast.getLock("a");
    const outer = await lock.lock({ leaseMs: 15_000 });
    const inner = await outer.run(() => lock.lock());
    await clock.advance(40_000);
    expect([outer.state, inner.state]).toEqual(["lost", "held"]);
    expect(outer.signal.reason).toMatchObject({ reason: "expired" });
    await inner.unlock();
    expect(fields("a")).toEqual({});
    const renewals = driver.names.filter((name) => name === "lock-renew").length;
    await clock.advance(60_000);
    expect(driver.names.filter((name) => name === "lock-renew")).toHaveLength(renewals);
  });

  test("of one thread: once the inner one of the watchdog ends, the fixed outer one is not renewed [wire-S2]", async () => {
    const { holdfast, clock, ttlMs } = open();
    const lock = holdfast.getLock("a");
    const outer = await lock.lock({ leaseMs: 60_000 });
    await outer.run(() => lock.using(() => clock.advance(35_000)));
    expect(ttlMs("a")).toBe(25_000);
    await clock.advance(20_000);
    expect(ttlMs("a")).toBe(5_000);
    await outer.unlock();
  });

  test("on one lock object: each has the TTL that it asked for [B5] [wire-S4]", async () => {
    // Where one is followed by the next without the lock being free, its TTL is written right after.
    const { holdfast, clock, ttlMs } = open({ handOff: false });
    const lock = holdfast.getLock("a");
    const ttls: number[] = [];
    const flow = async (options: { readonly leaseMs?: number }, heldMs: number) =>
      lock.using(options, async () => {
        ttls.push(ttlMs("a"));
        await new Promise<void>((resolve) => clock.schedule(heldMs, resolve));
        ttls.push(ttlMs("a"));
      });
    const flows = Promise.all([
      flow({ leaseMs: 5_000 }, 1_000),
      flow({}, 15_000),
      flow({ leaseMs: 7_000 }, 1_000),
    ]);
    await clock.advance(20_000);
    await flows;
    expect(ttls.map((ttl) => Math.round(ttl / 1_000))).toEqual([5, 4, 30, 25, 7, 6]);
  });

  test("on one lock object: after a fixed lease that ran out, lock() has the watchdog's lease and is renewed [wire-S4]", async () => {
    const { holdfast, clock, ttlMs } = open();
    const lock = holdfast.getLock("a");
    await lock.lock({ leaseMs: 2_000 });
    await clock.advance(2_001);
    const lease = await lock.lock();
    expect(ttlMs("a")).toBe(30_000);
    await clock.advance(90_000);
    expect(lease.state).toBe("held");
    await lease.unlock();
  });

  test("on one lock object: a refused try with a fixed lease changes nothing for the holder [wire-S4]", async () => {
    const { holdfast, clock, ttlMs } = open();
    const lock = holdfast.getLock("a");
    const lease = await lock.lock();
    expect(await lock.tryLock({ leaseMs: 500 })).toBeNull();
    expect(ttlMs("a")).toBe(30_000);
    await clock.advance(90_000);
    expect(lease.state).toBe("held");
    await lease.unlock();
  });
});

test("a release that is answered late is sent again before the one that was called after it", async () => {
  const { holdfast, driver, clock, fields } = open();
  const lock = holdfast.getLock("a");
  const outer = await lock.lock();
  const inner = await lock.lock({ threadId: outer.threadId });
  const late: CallFault = { name: "late", meet: () => Promise.resolve([clock.wallMs(), "late"]) };
  void driver.next(late, "lock-release");
  const released = Promise.allSettled([inner.unlock(), outer.unlock()]);
  await clock.advance(100);
  expect((await released).map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
  expect(fields("a")).toEqual({});
});
