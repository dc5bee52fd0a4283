import fc from "fast-check";
import { expect, test } from "vitest";
import type { Clock, Timer } from "../../src/clock.js";
import { HashedWheelTimer } from "../../src/runtime/hashed-wheel-timer.js";

/** Ticks begin at a whole millisecond, the first after the wheel was made. */
const START_MS = 5_000;

/** A clock for the one timer that a wheel may arm. It lets no turn of the event loop pass: hundreds of scenarios need it fast. */
class SynchronousClock implements Clock {
  nowMs = START_MS - 0.25;
  timer: { readonly dueMs: number; readonly callback: () => void } | undefined;

  readonly monotonicMs = (): number => this.nowMs;
  readonly wallMs = (): number => this.nowMs;

  schedule(delayMs: number, callback: () => void): Timer {
    if (this.timer !== undefined) throw new Error("the wheel arms a second timer");
    const timer = { dueMs: this.nowMs + delayMs, callback };
    this.timer = timer;
    const cancel = () => {
      if (this.timer === timer) this.timer = undefined;
    };
    return { cancel };
  }

  ring(): void {
    const { timer } = this;
    this.timer = undefined;
    timer?.callback();
  }
}

/** Every second one is a small whole number, to meet the edges of ticks. */
const quarters = (max: number) => fc.oneof(fc.nat(4), fc.nat(max * 4)).map((n) => (n < 5 ? n * 5 : n / 4));
const operation = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("schedule" as const), value: quarters(4_000) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("cancel" as const), value: fc.nat(60) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("advance" as const), value: quarters(1_000) }) },
  // Time passes first, and only then runs what fell due.
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("stall" as const), value: quarters(5_000) }) },
  // The timer rings although the clock has stood still.
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("ring" as const), value: fc.constant(0) }) },
);
const effect = fc.record({
  kind: fc.constantFrom("schedule", "cancel", "none", "none"),
  value: fc.nat(100),
});
const scenario = fc.record({
  tickMs: fc.constantFrom(1, 2, 5, 7),
  /** What the task with the number (modulo the length) does. */
  effects: fc.array(effect, { minLength: 1, maxLength: 12 }),
  operations: fc.array(operation, { maxLength: 50, size: "max" }),
});

test("runs what waits by tick and age, never early, and with its timer armed for the first, whatever is done", () => {
  const property = fc.property(scenario, ({ tickMs, effects, operations }) => {
    const clock = new SynchronousClock();
    const wheel = new HashedWheelTimer(clock, tickMs);
    const timeouts: Timer[] = [];
    const dueMs = new Map<number, number>();
    const wrong: string[] = [];
    const schedule = (delayMs: number) => {
      const id = timeouts.length;
      const sinceMs = clock.nowMs - START_MS;
      const nextTick = Math.floor(Math.max(sinceMs, 0) / tickMs) + 1;
      dueMs.set(id, START_MS + tickMs * Math.max(Math.ceil((sinceMs + delayMs) / tickMs), nextTick));
      timeouts.push(wheel.schedule(delayMs, () => run(id)));
    };
    const cancel = (id: number) => {
      timeouts[id]?.cancel();
      dueMs.delete(id);
    };
    const run = (id: number) => {
      const [first] = [...dueMs].sort(([a, aMs], [b, bMs]) => aMs - bMs || a - b);
      if (first?.[0] !== id || first[1] > clock.nowMs) wrong.push(`${id} at ${clock.nowMs}, not ${first}`);
      dueMs.delete(id);
      const { kind, value } = effects[id % effects.length] ?? { kind: "none", value: 0 };
      if (kind === "schedule") schedule(value);
      if (kind === "cancel") cancel(id + value);
    };
    const ring = () => {
      clock.ring();
      expect(wrong).toEqual([]);
    };
    const advance = (ms: number) => {
      const untilMs = clock.nowMs + ms;
      for (let { timer } = clock; timer !== undefined && timer.dueMs <= untilMs; { timer } = clock) {
        expect(timer.dueMs).toBeLessThanOrEqual(Math.min(...dueMs.values()));
        clock.nowMs = timer.dueMs;
        ring();
      }
      clock.nowMs = untilMs;
    };
    const stall = (ms: number) => {
      clock.nowMs += ms;
      if (clock.timer !== undefined && clock.timer.dueMs <= clock.nowMs) ring();
    };
    const does = { schedule, cancel, advance, stall, ring };
    for (const { kind, value } of operations) {
      does[kind](value);
      expect(clock.timer?.dueMs ?? Number.POSITIVE_INFINITY).toBeLessThanOrEqual(Math.min(...dueMs.values()));
    }
    wheel.stop();
    expect(clock.timer).toBeUndefined();
  });
  // A failure prints the seed and the smallest scenario.
  fc.assert(property, { numRuns: 300 });
});
