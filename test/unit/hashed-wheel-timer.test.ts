import { expect, test, vi } from "vitest";
import { systemClock } from "../../src/clock.js";
import { HashedWheelTimer } from "../../src/runtime/hashed-wheel-timer.js";
import { CountingClock, recorder } from "../support/worlds/counting-clock.js";

const HOUR_MS = 3_600_000;
const TURN_MS = 51_200;
const nothing = () => undefined;

function setUp(tickMs = 100) {
  const clock = new CountingClock();
  return { clock, wheel: new HashedWheelTimer(clock, tickMs), ...recorder(clock) };
}

test("runs no task before its time, none more than a tick late, and each once", async () => {
  const { clock, wheel, runs, task } = setUp(7);
  const deadlines: number[] = [];
  for (const pauseMs of [0, 0.25, 6.5, 3, 27.75]) {
    await clock.advance(pauseMs);
    for (let delayMs = 0; delayMs < 8_000; delayMs += delayMs < 150 ? 1.25 : 333.25) {
      wheel.schedule(delayMs, task(deadlines.length));
      deadlines.push(clock.elapsedMs + delayMs);
    }
  }
  await clock.advance(10_000);
  expect(runs).toHaveLength(deadlines.length);
  for (const [name, atMs] of runs) {
    const deadlineMs = deadlines[Number(name)] ?? Number.NaN;
    expect(atMs).toBeGreaterThanOrEqual(deadlineMs);
    expect(atMs).toBeLessThanOrEqual(deadlineMs + 7);
  }
});

test("runs a task whose time has come at the next tick and not within schedule", async () => {
  const { clock, wheel, runs, task } = setUp();
  await clock.advance(300);
  wheel.schedule(0, task("now"));
  wheel.schedule(-1_000, task("past"));
  expect(runs).toEqual([]);
  await clock.advance(1_000);
  expect(runs.flat()).toEqual(["now", 400, "past", 400]);
});

test("leaves a task in its bucket until its own turn of the wheel", async () => {
  const { clock, wheel, runs, task } = setUp();
  for (const turns of [2, 0, 1]) wheel.schedule(turns * TURN_MS + 500, task(turns));
  await clock.advance(3 * TURN_MS);
  expect(runs.flat()).toEqual([0, 500, 1, TURN_MS + 500, 2, 2 * TURN_MS + 500]);
});

test("after a stall runs what fell due by deadline, and keeps the rest for its time", async () => {
  const { clock, wheel, runs, task } = setUp();
  const delays = [7_200_000, 500, 1_300, 10_900_000, 3_600_050, 1_300, 800_000, 10_800_100, 400];
  for (const delayMs of delays) wheel.schedule(delayMs, task(delayMs));
  await clock.advance(450);
  await clock.stall(3 * HOUR_MS - 450);
  const late = [500, 1_300, 1_300, 800_000, 3_600_050, 7_200_000].map((delayMs) => [delayMs, 3 * HOUR_MS]);
  expect(runs).toEqual([[400, 400], ...late]);
  await clock.advance(100_000);
  expect(runs.slice(7).flat()).toEqual([10_800_100, 10_800_100, 10_900_000, 10_900_000]);
});

test("looks at each timeout once, however many turns were missed", async () => {
  const { clock, wheel, names, task } = setUp(1);
  // Walked turn by turn, a thousand hours are seven million turns past 20,000 timeouts.
  for (let i = 0; i < 20_000; i += 1) wheel.schedule(1_001 * HOUR_MS + i, nothing);
  wheel.schedule(1_000 * HOUR_MS, task("due"));
  await clock.advance(2);
  const armedBefore = clock.timersArmed;
  await clock.stall(1_000 * HOUR_MS);
  expect(names()).toEqual(["due"]);
  expect(clock.timersArmed - armedBefore).toBe(1);
});

test("runs no task that was cancelled, be it by one that fell due with it", async () => {
  const { clock, wheel, names, task } = setUp();
  wheel.schedule(400, task("cancelled")).cancel();
  const canceller = wheel.schedule(400, () => {
    for (const timeout of [canceller, sameTick, later, later]) timeout.cancel();
  });
  const sameTick = wheel.schedule(400, task("same tick"));
  wheel.schedule(400, task("bystander"));
  const later = wheel.schedule(HOUR_MS, task("later"));
  await clock.stall(2 * HOUR_MS);
  expect(names()).toEqual(["bystander"]);
  expect(clock.pendingTimers).toBe(0);
});

test("runs a task that schedules itself without a delay once a tick", async () => {
  const { clock, wheel } = setUp();
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
  const { clock, wheel, runs, task } = setUp();
  wheel.schedule(300, () => wheel.schedule(500, task("child")));
  await clock.stall(HOUR_MS);
  expect(runs).toEqual([]);
  await clock.advance(1_000);
  expect(runs.flat()).toEqual(["child", HOUR_MS + 500]);
});

test("comes back at once when its tasks took longer than a tick", async () => {
  const { clock, wheel, runs, task } = setUp();
  wheel.schedule(100, () => clock.block(450));
  wheel.schedule(300, task("overtaken"));
  await clock.advance(100);
  expect(runs.flat()).toEqual(["overtaken", 550]);
});

test("warns of what a task throws, and goes on with the others", async () => {
  const emitWarning = vi.spyOn(process, "emitWarning").mockImplementation(nothing);
  const { clock, wheel, names, task } = setUp();
  for (const reason of [Object.create(null), new Error("boom")])
    wheel.schedule(100, () => {
      throw reason;
    });
  wheel.schedule(100, task("same tick"));
  wheel.schedule(200, task("next tick"));
  await clock.advance(200);
  expect(names()).toEqual(["same tick", "next tick"]);
  // What was thrown need not be an error, nor be printable as a string.
  for (const text of ["a task of the timing wheel threw: [Object: null prototype] {}", "Error: boom"])
    expect(emitWarning).toHaveBeenCalledWith(expect.stringContaining(text), "HoldfastWarning");
  emitWarning.mockRestore();
});

test("refuses a delay that is not finite", () => {
  const { wheel } = setUp();
  for (const delayMs of [Number.NaN, Number.POSITIVE_INFINITY])
    expect(() => wheel.schedule(delayMs, nothing)).toThrow(RangeError);
});

test("once stopped, be it by a task or while it sleeps, runs nothing and takes no more", async () => {
  const { clock, wheel, names, task } = setUp();
  wheel.schedule(100, () => wheel.stop());
  const sameTick = wheel.schedule(100, task("same tick"));
  wheel.schedule(5_000, task("later"));
  await clock.advance(10_000);
  sameTick.cancel();
  wheel.stop();
  expect([names(), clock.pendingTimers]).toEqual([[], 0]);
  expect(() => wheel.schedule(100, nothing)).toThrow("stopped");
  const asleep = setUp();
  asleep.wheel.schedule(100, nothing);
  asleep.wheel.stop();
  expect(asleep.clock.pendingTimers).toBe(0);
});

test("has one timer for all tasks, which is armed for the first of them and only while there are any", async () => {
  const { clock, wheel, runs, task } = setUp();
  wheel.schedule(30_000, task("far"));
  await clock.advance(1_010);
  wheel.schedule(250, task("near"));
  expect(clock.pendingTimers).toBe(1);
  await clock.advance(30_000);
  expect(runs.flat()).toEqual(["near", 1_300, "far", 30_000]);
  expect([clock.timersArmed, clock.pendingTimers]).toEqual([3, 0]);
});

test("does not touch its timer while timeouts are set and cancelled", async () => {
  const { clock, wheel } = setUp();
  for (let i = 0; i < 1_000; i += 1) {
    wheel.schedule(30_000, nothing).cancel();
    await clock.advance(1);
  }
  expect(clock.timersArmed).toBe(1);
  await clock.advance(30_000);
  expect([clock.timersArmed, clock.pendingTimers]).toEqual([1, 0]);
});

test("does not keep the process alive, whose clock it keeps to", async () => {
  const timersAlive = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
  const before = timersAlive();
  const wheel = new HashedWheelTimer(systemClock, 5);
  const startMs = systemClock.monotonicMs();
  const ran = new Promise<number>((resolve) => {
    wheel.schedule(33, () => resolve(systemClock.monotonicMs()));
  });
  expect(timersAlive()).toBe(before);
  const patience = systemClock.schedule(10_000, nothing, true);
  expect((await ran) - startMs).toBeGreaterThanOrEqual(33);
  patience.cancel();
});
