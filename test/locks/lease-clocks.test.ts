import { describe, expect, test } from "vitest";
import type { Clock } from "../../src/clock.js";
import { LeaseLostError } from "../../src/errors.js";
import type { Lease } from "../../src/lease.js";
import { answerLate } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

/** A client whose wall clock can be set. */
function withWallClock() {
  const world = open();
  const { clock } = world;
  let setByMs = 0;
  const settable: Clock = {
    monotonicMs: () => clock.monotonicMs(),
    wallMs: () => clock.wallMs() + setByMs,
    schedule: (delayMs, callback) => clock.schedule(delayMs, callback),
  };
  const { holdfast, driver } = world.connect({ clock: settable });
  return {
    clock,
    lock: holdfast.getLock("a"),
    driver,
    set: (byMs: number) => {
      setByMs += byMs;
    },
  };
}

test("a lease that was released takes its alarm with it", async () => {
  const { holdfast, clock } = open();
  const [lock, other] = [holdfast.getLock("a"), holdfast.getLock("b")];
  // The alarms share a beat, which outlives them.
  expect((await other.lock({ leaseMs: 60_000 })).signal.aborted).toBe(false);
  const lease = await lock.lock({ leaseMs: 60_000 });
  const timers = clock.pendingTimers;
  expect(lease.signal.aborted).toBe(false);
  expect(clock.pendingTimers).toBe(timers + 1);
  await lease.unlock();
  expect(clock.pendingTimers).toBe(timers);
});

describe("a lease tells the truth to the next line", () => {
  const saysThatItIsLost = (lease: Lease) => {
    expect(lease.state).toBe("lost");
    expect(lease.remainingMs()).toBe(0);
    expect(() => lease.assertHeld()).toThrow(LeaseLostError);
    expect(lease.signal.aborted).toBe(true);
  };

  test("after the event loop was blocked past its end, and a captured signal aborts in the next turn [B24]", async () => {
    const { holdfast, clock } = open();
    const asked = await holdfast.getLock("a").lock();
    const captured = await Promise.all([
      holdfast.getLock("b").lock({ leaseMs: 20_000 }),
      holdfast.getLock("c").lock(),
    ]);
    const signals = captured.map(({ signal }) => signal);
    clock.block(30_000);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
    saysThatItIsLost(asked);
    await clock.advance(0);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    for (const lease of captured) saysThatItIsLost(lease);
  });

  test("by its signal alone as well, which somebody has asked for before", async () => {
    const { holdfast, clock } = open();
    const lease = await holdfast.getLock("a").lock();
    const { signal } = lease;
    clock.block(30_000);
    expect(signal.aborted).toBe(false);
    expect(lease.signal.aborted).toBe(true);
    expect(signal.aborted).toBe(true);
  });

  test("after a block that its end has survived, and is renewed as if nothing had been [B24]", async () => {
    const { holdfast, clock } = open();
    const lease = await holdfast.getLock("a").lock();
    clock.block(29_000);
    expect(lease.state).toBe("held");
    expect(lease.remainingMs()).toBeCloseTo(698, 3);
    await clock.advance(100);
    expect(lease.remainingMs()).toBeGreaterThan(29_000);
  });

  test("after the machine was suspended past its end [R11]", async () => {
    const { holdfast, clock } = open();
    const leases = [
      await holdfast.getLock("a").lock(),
      await holdfast.getLock("b").lock({ leaseMs: 20_000 }),
    ];
    clock.suspend(30_000);
    for (const lease of leases) saysThatItIsLost(lease);
  });

  test("after a suspension, of which a captured signal hears within a second or so of being awake [R11]", async () => {
    const { holdfast, clock } = open();
    const lease = await holdfast.getLock("a").lock({ leaseMs: 3_600_000 });
    const { signal } = lease;
    await clock.advance(10_000);
    clock.suspend(3_600_000);
    await clock.advance(1_100);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject({ reason: "expired" });
  });

  test("after a suspension that it has survived: the time asleep counts [R11]", async () => {
    const { holdfast, clock } = open();
    const lease = await holdfast.getLock("a").lock({ leaseMs: 60_000 });
    clock.suspend(50_000);
    expect(lease.state).toBe("held");
    expect(lease.remainingMs()).toBeCloseTo(9_398, 3);
  });

  test("when the wall clock is set back: that extends nothing [R11]", async () => {
    const { clock, lock, set } = withWallClock();
    const lease = await lock.lock({ leaseMs: 1_000 });
    set(-3_600_000);
    expect(lease.remainingMs()).toBeCloseTo(988, 3);
    await clock.advance(988);
    saysThatItIsLost(lease);
  });

  test("when the wall clock is set forward: that may end trust early, never late [R11]", async () => {
    const { lock, set } = withWallClock();
    const lease = await lock.lock({ leaseMs: 1_000 });
    set(500);
    expect(lease.remainingMs()).toBeCloseTo(488, 3);
    set(500);
    saysThatItIsLost(lease);
  });

  test("when the wall clock is set back while it is asked for: a window that is over stays over [R11] [B17]", async () => {
    const { clock, lock, set, driver } = withWallClock();
    const late = answerLate();
    void driver.next(late, "lock-acquire");
    const tried = watched(lock.tryLock({ leaseMs: 1_000 }));
    await clock.advance(990);
    set(-3_600_000);
    late.arrive();
    await clock.advance(0);
    expect(tried.outcome).toMatchObject({
      error: { code: "ERR_HOLDFAST_UNAVAILABLE", outcomeUnknown: true },
    });
  });
});
