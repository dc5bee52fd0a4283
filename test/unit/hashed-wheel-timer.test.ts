import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/clock.js";
import { HashedWheelTimer, type Timeout } from "../../src/runtime/hashed-wheel-timer.js";

import { CountingClock, recorder } from "../support/worlds/counting-clock.js";

const HOUR_MS = 3_600_000;
const nothing = () => undefined;

describe("firing", () => {
  test("fires no task before its time and none more than one tick late", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 7, buckets: 4 });
    const { runs, task } = recorder(clock);
    const deadlines: number[] = [];
    for (const pauseMs of [0, 0.25, 6.5, 3, 27.75]) {
      await clock.advance(pauseMs);
      for (let delayMs = 0; delayMs < 150; delayMs += 1.25) {
        wheel.schedule(delayMs, task(deadlines.length));
        deadlines.push(clock.elapsedMs + delayMs);
      }
    }
    await clock.advance(200);
    expect(runs).toHaveLength(deadlines.length);
    for (const [name, atMs] of runs) {
      const deadlineMs = deadlines[Number(name)] ?? Number.NaN;
      expect(atMs).toBeGreaterThanOrEqual(deadlineMs);
      expect(atMs).toBeLessThanOrEqual(deadlineMs + 7);
    }
  });

  test("fires the tasks of one tick in the order in which they were scheduled", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 100 });
    const { names, task } = recorder(clock);
    wheel.schedule(390, task("first"));
    wheel.schedule(310, task("second"));
    await clock.advance(250);
    wheel.schedule(140, task("third"));
    wheel.schedule(70, task("fourth"));
    await clock.advance(150);
    expect(names()).toEqual(["first", "second", "third", "fourth"]);
  });

  test("fires a task whose time has come at the next tick and not within schedule", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 100 });
    const { runs, task } = recorder(clock);
    await clock.advance(300);
    wheel.schedule(0, task("now"));
    wheel.schedule(-1_000, task("past"));
    expect(runs).toEqual([]);
    await clock.advance(1_000);
    expect(runs).toEqual([
      ["now", 400],
      ["past", 400],
    ]);
  });

  test("fires on the clock of the process", async () => {
    const wheel = new HashedWheelTimer(systemClock, { tickMs: 5 });
    const patience = systemClock.schedule(10_000, nothing, true);
    const startMs = systemClock.monotonicMs();
    const ranMs = await new Promise<number>((resolve) => {
      wheel.schedule(33, () => resolve(systemClock.monotonicMs()));
    });
    patience.cancel();
    expect(ranMs - startMs).toBeGreaterThanOrEqual(33);
  });

  test("keeps time beyond 2^31 ticks", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 1 });
    const { runs, task } = recorder(clock);
    const timeout = wheel.schedule(2 ** 32 + 5, task("far"));
    expect(timeout.bucket).toBe(5);
    await clock.stall(2 ** 32);
    expect(runs).toEqual([]);
    await clock.advance(10);
    expect(runs).toEqual([["far", 2 ** 32 + 5]]);
  });
});

describe("buckets and rounds", () => {
  test("places the tasks of the textbook wheel of 8 × 1 s and fires them when they should", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 1_000, buckets: 8 });
    const { runs, task } = recorder(clock);
    const place = ({ bucket, rounds }: Timeout) => ({ bucket, rounds });

    const twins = [wheel.schedule(5_000, task("A")), wheel.schedule(5_000, task("B"))];
    const distant = wheel.schedule(17_000, task("D"));
    expect(twins.map(place)).toEqual([
      { bucket: 5, rounds: 0 },
      { bucket: 5, rounds: 0 },
    ]);
    expect(place(distant)).toEqual({ bucket: 1, rounds: 2 });

    await clock.advance(5_000);
    const late = wheel.schedule(13_000, task("C"));
    expect(place(late)).toEqual({ bucket: 2, rounds: 1 });
    await clock.advance(1_000);
    expect([place(late), place(distant)]).toEqual([
      { bucket: 2, rounds: 1 },
      { bucket: 1, rounds: 1 },
    ]);
    // Tick 10 passes bucket 2 for the first time: it is not this task's round yet.
    await clock.advance(5_000);
    expect(place(late)).toEqual({ bucket: 2, rounds: 0 });

    await clock.advance(20_000);
    expect(runs).toEqual([
      ["A", 5_000],
      ["B", 5_000],
      ["D", 17_000],
      ["C", 18_000],
    ]);
  });

  test("counts the rounds of a task down to none", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 1_000, buckets: 8 });
    const timeout = wheel.schedule(17_000, nothing);
    const rounds: number[] = [];
    for (let second = 0; second <= 17; second += 1) {
      rounds.push(timeout.rounds);
      await clock.advance(1_000);
    }
    expect(rounds).toEqual([2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    await clock.advance(60_000);
    expect(timeout.rounds).toBe(0);
  });

  test("rounds the number of buckets up to a power of two", () => {
    const bucketOfTick = (buckets: number, tick: number) =>
      new HashedWheelTimer(new CountingClock(), { tickMs: 1, buckets }).schedule(tick, nothing).bucket;
    expect([1, 2, 3, 4, 5, 8, 9].map((buckets) => bucketOfTick(buckets, 1_023))).toEqual([
      0, 1, 3, 3, 7, 7, 15,
    ]);
    for (let power = 1; power <= 2 ** 16; power *= 2) expect(bucketOfTick(power, power)).toBe(0);
  });
});

describe("catching up after a stall of the event loop", () => {
  test("fires what fell due, by deadline, and keeps the rest for its time", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 100, buckets: 8 });
    const { runs, names, task } = recorder(clock);
    const delays = [7_200_000, 500, 1_300, 10_900_000, 3_600_050, 1_300, 800_000, 10_800_100, 400];
    for (const delayMs of delays) wheel.schedule(delayMs, task(delayMs));
    await clock.advance(450);
    await clock.stall(3 * HOUR_MS - 450);
    expect(names()).toEqual([400, 500, 1_300, 1_300, 800_000, 3_600_050, 7_200_000]);
    expect(runs.slice(1).every(([, atMs]) => atMs === 3 * HOUR_MS)).toBe(true);
    await clock.advance(100_000);
    expect(runs.slice(7)).toEqual([
      [10_800_100, 10_800_100],
      [10_900_000, 10_900_000],
    ]);
  });

  test("fires what fell due within a turn by deadline", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 100, buckets: 8 });
    const { names, task } = recorder(clock);
    await clock.advance(550);
    for (const delayMs of [700, 100, 500, 300, 1_500, 200]) wheel.schedule(delayMs, task(delayMs));
    await clock.stall(750);
    expect(names()).toEqual([100, 200, 300, 500, 700]);
  });

  test("looks at each timeout once, however many turns were missed", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 1, buckets: 8 });
    const { names, task } = recorder(clock);
    // Walked turn by turn, ten hours are 4,500,000 turns past 20,000 timeouts: hours of work.
    for (let i = 0; i < 20_000; i += 1) wheel.schedule(11 * HOUR_MS + i, nothing);
    wheel.schedule(10 * HOUR_MS, task("due"));
    await clock.advance(2);
    const armedBefore = clock.timersArmed;
    await clock.stall(10 * HOUR_MS);
    expect(names()).toEqual(["due"]);
    expect(clock.timersArmed - armedBefore).toBe(1);
    expect(wheel.stop()).toHaveLength(20_000);
  });

  test("does not fire a task cancelled by one that fell due before it", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 100, buckets: 8 });
    const { names, task } = recorder(clock);
    const victim = wheel.schedule(HOUR_MS, task("victim"));
    wheel.schedule(5_000, () => expect(victim.cancel()).toBe(true));
    await clock.stall(2 * HOUR_MS);
    expect(names()).toEqual([]);
    expect(wheel.pending).toBe(0);
  });
});

describe("cancelling", () => {
  test("keeps a task from running, before and after it reached its bucket", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 100 });
    const { names, task } = recorder(clock);
    const [incoming, , transferred] = ["a", "b", "c", "d"].map((name) => wheel.schedule(400, task(name)));
    expect(incoming?.cancel()).toBe(true);
    await clock.advance(200);
    expect(transferred?.cancel()).toBe(true);
    expect(wheel.pending).toBe(2);
    await clock.advance(1_000);
    expect(names()).toEqual(["b", "d"]);
  });

  test("tells whether it kept the task from running", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 100 });
    const cancelled = wheel.schedule(100, nothing);
    const ran = wheel.schedule(100, nothing);
    expect([cancelled.cancel(), cancelled.cancel()]).toEqual([true, false]);
    await clock.advance(100);
    expect(ran.cancel()).toBe(false);
    expect(wheel.pending).toBe(0);
  });

  test("lets a task cancel others of its tick and later ones, but not itself", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 100 });
    const { names, task } = recorder(clock);
    const results: boolean[] = [];
    const canceller = wheel.schedule(100, () => {
      results.push(...[canceller, sameTick, later].map((timeout) => timeout.cancel()));
    });
    const sameTick = wheel.schedule(100, task("same tick"));
    wheel.schedule(100, task("bystander"));
    const later = wheel.schedule(900, task("later"));
    await clock.advance(2_000);
    expect(results).toEqual([false, true, true]);
    expect(names()).toEqual(["bystander"]);
  });

  test("lets go of a task that ran or was cancelled", async () => {
    const clock = new CountingClock();
    const wheel = new HashedWheelTimer(clock, { tickMs: 100 });
    const cancelled = wheel.schedule(500, nothing);
    const ran = wheel.schedule(100, nothing);
    expect([cancelled.task, ran.task]).toEqual([nothing, nothing]);
    cancelled.cancel();
    await clock.advance(100);
    expect([cancelled.task, ran.task]).toEqual([null, null]);
  });
});
