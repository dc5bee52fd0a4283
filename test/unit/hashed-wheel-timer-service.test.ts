import { afterEach, describe, expect, test, vi } from "vitest";
import { systemClock } from "../../src/clock.js";
import { HashedWheelTimer, type Timeout } from "../../src/runtime/hashed-wheel-timer.js";

import { CountingClock, recorder } from "../support/worlds/counting-clock.js";

const HOUR_MS = 3_600_000;
const nothing = () => undefined;

afterEach(() => vi.restoreAllMocks());

describe("tasks that schedule", () => {
  test("runs a task that reschedules itself without a delay once a tick", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 100 });
    const atMs: number[] = [];
    const again = () => {
      atMs.push(clock.elapsedMs);
      wheel.schedule(0, again);
    };
    again();
    await clock.advance(350);
    expect(atMs).toEqual([0, 100, 200, 300]);
  });

  test("counts the delay of a new task from where the clock is, also while catching up", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 100, buckets: 8 });
    const { runs, task } = recorder(clock);
    wheel.schedule(300, () => wheel.schedule(500, task("child")));
    await clock.stall(HOUR_MS);
    expect(runs).toEqual([]);
    await clock.advance(1_000);
    expect(runs).toEqual([["child", HOUR_MS + 500]]);
  });

  test("comes back at once when its tasks took longer than a tick", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 100 });
    const { runs, task } = recorder(clock);
    wheel.schedule(100, () => clock.block(450));
    wheel.schedule(300, task("overtaken"));
    await clock.advance(100);
    expect(runs).toEqual([["overtaken", 550]]);
  });
});

describe("tasks that throw", () => {
  test("stop neither the others of their tick nor the wheel", async () => {
    const clock = new CountingClock();
    const errors: unknown[] = [];
    const wheel = new HashedWheelTimer(clock, { tickMs: 100, onError: (error) => errors.push(error) });
    const { names, task } = recorder(clock);
    const fail = (reason: unknown) => () => {
      throw reason;
    };
    const boom = new Error("boom");
    wheel.schedule(100, task("before"));
    wheel.schedule(100, fail(boom));
    wheel.schedule(100, task("after"));
    wheel.schedule(200, fail(undefined));
    wheel.schedule(200, task("next tick"));
    await clock.advance(200);
    expect(names()).toEqual(["before", "after", "next tick"]);
    expect(errors).toEqual([boom, undefined]);
    wheel.schedule(100, task("scheduled later"));
    await clock.advance(100);
    expect(names()).toContain("scheduled later");
    expect(wheel.pending).toBe(0);
  });

  test("become a warning of the process when nobody listens", async () => {
    const emitWarning = vi.spyOn(process, "emitWarning").mockImplementation(nothing);
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock);
    wheel.schedule(100, () => {
      throw Object.create(null);
    });
    wheel.schedule(100, () => {
      throw new Error("boom");
    });
    await clock.advance(100);
    // What was thrown need not be an error, nor be printable as a string.
    for (const text of ["a task of the timing wheel threw: [Object: null prototype] {}", "Error: boom"]) {
      expect(emitWarning).toHaveBeenCalledWith(expect.stringContaining(text), "HoldfastWarning");
    }
  });

  test("stop nothing when onError throws, too", async () => {
    const emitWarning = vi.spyOn(process, "emitWarning").mockImplementation(nothing);
    const clock = new CountingClock();
    const onError = () => {
      throw new Error("worse");
    };
    const wheel = new HashedWheelTimer(clock, { onError });
    const { names, task } = recorder(clock);
    wheel.schedule(100, () => {
      throw new Error("boom");
    });
    wheel.schedule(100, task("same tick"));
    wheel.schedule(200, task("next tick"));
    await clock.advance(200);
    expect(names()).toEqual(["same tick", "next tick"]);
    expect(emitWarning).toHaveBeenCalledExactlyOnceWith(
      expect.stringContaining("Error: worse"),
      "HoldfastWarning",
    );
  });
});

describe("stopping", () => {
  test("returns what was pending and runs none of it", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 100 });
    const { names, task } = recorder(clock);
    wheel.schedule(100, task("ran"));
    const transferred = wheel.schedule(900, task("transferred"));
    const cancelled = wheel.schedule(900, task("cancelled"));
    await clock.advance(100);
    const incoming = wheel.schedule(0, task("incoming"));
    cancelled.cancel();
    const pending = wheel.stop();
    expect(new Set(pending)).toEqual(new Set([transferred, incoming]));
    expect(wheel.pending).toBe(0);
    expect(clock.pendingTimers).toBe(0);
    await clock.advance(10_000);
    expect(names()).toEqual(["ran"]);
    expect(pending.map((timeout) => timeout.cancel())).toEqual([false, false]);
    for (const timeout of pending) timeout.task?.();
    expect(names()).toEqual(["ran", "transferred", "incoming"]);
  });

  test("refuses tasks afterwards", () => {
    const wheel = new HashedWheelTimer(new CountingClock());
    wheel.stop();
    expect(() => wheel.schedule(100, nothing)).toThrow("stopped");
  });

  test("is harmless twice and before the first task", () => {
    const clock = new CountingClock();
    const unused = new HashedWheelTimer(clock);
    expect([unused.stop(), unused.stop()]).toEqual([[], []]);
    const used = new HashedWheelTimer(clock);
    const timeout = used.schedule(100, nothing);
    expect([used.stop(), used.stop()]).toEqual([[timeout], []]);
    expect(clock.pendingTimers).toBe(0);
  });

  test("within a task keeps the rest of the tick from running and returns it", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 100 });
    const { names, task } = recorder(clock);
    const stopped: Timeout[] = [];
    wheel.schedule(100, () => stopped.push(...wheel.stop()));
    const rest = [wheel.schedule(100, task("same tick")), wheel.schedule(5_000, task("later"))];
    await clock.advance(10_000);
    expect(names()).toEqual([]);
    expect(stopped).toEqual(rest);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe("bounds", () => {
  test("refuses more timeouts than maxPending until one ran or was cancelled", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 100, maxPending: 2 });
    wheel.schedule(100, nothing);
    const second = wheel.schedule(500, nothing);
    expect(() => wheel.schedule(100, nothing)).toThrow(/full: 2 timeouts/);
    expect(() => wheel.schedule(100, nothing)).toThrow(RangeError);
    second.cancel();
    wheel.schedule(500, nothing);
    expect(() => wheel.schedule(500, nothing)).toThrow(RangeError);
    await clock.advance(100);
    expect(wheel.pending).toBe(1);
    wheel.schedule(500, nothing);
  });

  test("moves at most maxTransfersPerTick new timeouts a tick, the oldest first", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 100, maxTransfersPerTick: 10 });
    const { runs, names, task } = recorder(clock);
    for (let i = 0; i < 25; i += 1) wheel.schedule(i === 24 ? 700 : 50, task(i));
    await clock.advance(1_000);
    expect(names()).toEqual(Array.from({ length: 25 }, (_, i) => i));
    const ranAt = (atMs: number) => runs.filter(([, ranMs]) => ranMs === atMs).length;
    expect([100, 200, 300, 700].map(ranAt)).toEqual([10, 10, 4, 1]);
  });

  test("spends none of that bound on timeouts cancelled before", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 100, maxTransfersPerTick: 1 });
    const { runs, task } = recorder(clock);
    for (let i = 0; i < 100; i += 1) wheel.schedule(50, nothing).cancel();
    wheel.schedule(50, task("kept"));
    await clock.advance(1_000);
    expect(runs).toEqual([["kept", 100]]);
  });

  test.each([
    { tickMs: 0 },
    { tickMs: 0.5 },
    { tickMs: Number.NaN },
    { buckets: 0 },
    { buckets: 1.5 },
    { buckets: 2 ** 20 + 1 },
    { maxPending: 0 },
    { maxPending: Number.POSITIVE_INFINITY },
    { maxTransfersPerTick: -1 },
  ])("refuses %o", (options) => {
    const name = Object.keys(options)[0] ?? "";
    expect(() => new HashedWheelTimer(new CountingClock(), options)).toThrow(RangeError);
    expect(() => new HashedWheelTimer(new CountingClock(), options)).toThrow(name);
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY])("refuses a delay of %d", (delayMs) => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock);
    expect(() => wheel.schedule(delayMs, nothing)).toThrow(RangeError);
    expect([wheel.pending, clock.pendingTimers]).toEqual([0, 0]);
  });
});

describe("the underlying timer", () => {
  test("is armed once for all tasks, and not at all when there are none", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 100 });
    expect(clock.pendingTimers).toBe(0);
    for (let i = 0; i < 1_000; i += 1) wheel.schedule(i, nothing);
    expect(clock.timersArmed).toBe(1);
    await clock.advance(500);
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(500);
    expect(wheel.pending).toBe(0);
    expect(clock.pendingTimers).toBe(0);
    wheel.schedule(10, nothing);
    await clock.advance(100);
    expect([wheel.pending, clock.pendingTimers]).toEqual([0, 0]);
  });

  test("runs out and is not armed again when everything was cancelled", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 100 });
    const incoming = wheel.schedule(5_000, nothing);
    incoming.cancel();
    await clock.advance(5_000);
    expect([clock.pendingTimers, clock.timersArmed]).toEqual([0, 1]);
    const transferred = wheel.schedule(5_000, nothing);
    await clock.advance(1_000);
    transferred.cancel();
    await clock.advance(5_000);
    expect(clock.pendingTimers).toBe(0);
  });

  test("does not churn while the wheel empties and fills", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 100 });
    for (let i = 0; i < 10_000; i += 1) wheel.schedule(30_000, nothing).cancel();
    expect(clock.timersArmed).toBe(1);
    for (let i = 0; i < 1_000; i += 1) {
      wheel.schedule(30_000, nothing).cancel();
      await clock.advance(1);
    }
    expect(clock.timersArmed).toBe(1);
  });

  test("does not churn while another task is far away", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 100 });
    wheel.schedule(40_000, nothing);
    await clock.advance(100);
    const before = clock.timersArmed;
    for (let i = 0; i < 1_000; i += 1) {
      wheel.schedule(30_000, nothing).cancel();
      await clock.advance(1);
    }
    expect(clock.timersArmed - before).toBe(1);
  });

  test("rings at each tick where many wait, so that it has few to put into their buckets at once", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 100 });
    for (let i = 0; i < 2_000; i += 1) wheel.schedule(30_000, nothing);
    await clock.advance(100);
    expect(clock.timersArmed).toBe(3);
    wheel.schedule(30_000, nothing);
    await clock.advance(100);
    // For the transfer, and back.
    expect(clock.timersArmed).toBe(5);
  });

  test("rings at each tick where more wait than it may put into their buckets at once", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 100, maxTransfersPerTick: 10 });
    const { runs, task } = recorder(clock);
    for (let i = 0; i < 300; i += 1) wheel.schedule(5_000, task(i));
    await clock.advance(5_000);
    expect(runs).toHaveLength(300);
  });

  test("sleeps past empty buckets", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 100 });
    const { runs, task } = recorder(clock);
    wheel.schedule(30_000, task("far"));
    await clock.advance(30_000);
    expect(runs).toEqual([["far", 30_000]]);
    expect(clock.timersArmed).toBe(1);
  });

  test("wakes earlier than planned for a task that is due sooner", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 100 });
    const { runs, task } = recorder(clock);
    wheel.schedule(30_000, task("far"));
    await clock.advance(1_010);
    wheel.schedule(250, task("near"));
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(30_000);
    expect(runs).toEqual([
      ["near", 1_300],
      ["far", 30_000],
    ]);
  });

  test("never keeps the process alive", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock);
    for (const delayMs of [0, 1_000, 100_000]) wheel.schedule(delayMs, nothing);
    await clock.stall(HOUR_MS);
    expect(clock.timersKeepingAlive).toBe(0);

    const timersAlive = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
    const before = timersAlive();
    const real = new HashedWheelTimer(systemClock);
    real.schedule(1_000, nothing);
    expect(timersAlive()).toBe(before);
    real.stop();
  });
});
