import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Clock, Timer } from "../../src/clock.js";
import { HashedWheelTimer, type Timeout } from "../../src/runtime/hashed-wheel-timer.js";

const START_MS = 5_000;

/**
 * A fake clock for the one timer that a wheel may arm. It lets no turn of the event loop pass, as `FakeClock` does:
 * hundreds of scenarios need it fast.
 */
class SynchronousClock implements Clock {
  #nowMs = START_MS;
  #timer: { readonly dueMs: number; readonly callback: () => void } | undefined;

  get elapsedMs(): number {
    return this.#nowMs - START_MS;
  }

  get isArmed(): boolean {
    return this.#timer !== undefined;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return this.#nowMs;
  }

  schedule(delayMs: number, callback: () => void): Timer {
    if (this.#timer !== undefined) throw new Error("the wheel arms a second timer");
    const timer = { dueMs: this.#nowMs + delayMs, callback };
    this.#timer = timer;
    const cancel = () => {
      if (this.#timer === timer) this.#timer = undefined;
    };
    return { cancel };
  }

  advance(ms: number): void {
    const untilMs = this.#nowMs + ms;
    this.#fireUntil(untilMs);
    this.#nowMs = untilMs;
  }

  /** Time passes first, and only then fires what fell due. */
  stall(ms: number): void {
    this.#nowMs += ms;
    this.#fireUntil(this.#nowMs);
  }

  #fireUntil(untilMs: number): void {
    for (let timer = this.#timer; timer !== undefined && timer.dueMs <= untilMs; timer = this.#timer) {
      this.#timer = undefined;
      this.#nowMs = Math.max(timer.dueMs, this.#nowMs);
      timer.callback();
    }
  }
}

/** The reference: an array sorted by tick, then by age, and no wheel. */
class SortedTimers {
  readonly runs: [id: number, atMs: number][] = [];
  #entries: { id: number; tick: number }[] = [];
  #nextId = 0;
  #nowMs = 0;

  constructor(
    readonly tickMs: number,
    readonly effects: Effects,
  ) {}

  get pendingIds(): number[] {
    return this.#entries.map(({ id }) => id).sort((a, b) => a - b);
  }

  schedule(delayMs: number): void {
    const tick = Math.max(Math.ceil((this.#nowMs + delayMs) / this.tickMs), this.#tick() + 1);
    this.#entries.push({ id: this.#nextId, tick });
    this.#nextId += 1;
    this.#entries.sort((a, b) => a.tick - b.tick || a.id - b.id);
  }

  cancel(id: number): boolean {
    const index = this.#entries.findIndex((entry) => entry.id === id);
    if (index >= 0) this.#entries.splice(index, 1);
    return index >= 0;
  }

  advance(ms: number): void {
    const untilMs = this.#nowMs + ms;
    for (let first = this.#entries[0]; first !== undefined; first = this.#entries[0]) {
      const dueMs = first.tick * this.tickMs;
      if (dueMs > untilMs) break;
      this.#nowMs = Math.max(dueMs, this.#nowMs);
      this.#runDue();
    }
    this.#nowMs = untilMs;
  }

  stall(ms: number): void {
    this.#nowMs += ms;
    this.#runDue();
  }

  #runDue(): void {
    const tick = this.#tick();
    for (let first = this.#entries[0]; first !== undefined && first.tick <= tick; first = this.#entries[0]) {
      this.#entries.shift();
      this.runs.push([first.id, this.#nowMs]);
      applyEffect(this.effects, first.id, this);
    }
  }

  #tick(): number {
    return Math.floor(this.#nowMs / this.tickMs);
  }
}

interface Timers {
  schedule(delayMs: number): void;
  cancel(id: number): boolean;
}

/** What the task with the number (modulo the length) does: schedule another, cancel one, throw, or nothing. */
type Effects = readonly { readonly kind: "schedule" | "cancel" | "throw" | "none"; readonly value: number }[];

function applyEffect(effects: Effects, id: number, timers: Timers): void {
  const { kind, value } = effects[id % effects.length] ?? { kind: "none", value: 0 };
  if (kind === "schedule") timers.schedule(value);
  if (kind === "cancel") timers.cancel(id + value);
}

/** The same interface over a wheel. */
class WheelTimers {
  readonly runs: [id: number, atMs: number][] = [];
  readonly timeouts: Timeout[] = [];
  readonly errors: unknown[] = [];
  readonly wheel: HashedWheelTimer;

  constructor(
    readonly clock: SynchronousClock,
    options: { tickMs: number; buckets: number },
    readonly effects: Effects,
  ) {
    this.wheel = new HashedWheelTimer(clock, { ...options, onError: (error) => this.errors.push(error) });
  }

  schedule(delayMs: number): void {
    const id = this.timeouts.length;
    const task = () => {
      this.runs.push([id, this.clock.elapsedMs]);
      applyEffect(this.effects, id, this);
      if (this.effects[id % this.effects.length]?.kind === "throw") throw new Error(`task ${id}`);
    };
    this.timeouts.push(this.wheel.schedule(delayMs, task));
  }

  advance(ms: number): void {
    this.clock.advance(ms);
  }

  stall(ms: number): void {
    this.clock.stall(ms);
  }

  cancel(id: number): boolean {
    return this.timeouts[id]?.cancel() ?? false;
  }
}

describe("against a sorted array", () => {
  /** Every second one is a small whole number, to meet the edges of ticks. */
  const quarters = (max: number) =>
    fc.oneof(
      fc.nat(4).map((n) => n * 5),
      fc.nat(max * 4).map((n) => n / 4),
    );
  const operation = fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant("schedule" as const), value: quarters(400) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("cancel" as const), value: fc.nat(60) }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("advance" as const), value: quarters(120) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("stall" as const), value: quarters(500) }) },
  );
  const effect = fc.record({
    kind: fc.constantFrom("schedule", "cancel", "throw", "none", "none", "none"),
    value: fc.nat(100),
  });
  const scenario = fc.record({
    tickMs: fc.constantFrom(2, 5, 7, 10, 20),
    buckets: fc.constantFrom(1, 2, 4, 8, 16),
    effects: fc.array(effect, { minLength: 1, maxLength: 12 }),
    operations: fc.array(operation, { maxLength: 50, size: "max" }),
  });

  test("fires the same tasks at the same times in the same order, whatever is done to it", () => {
    const property = fc.property(scenario, ({ tickMs, buckets, effects, operations }) => {
      const clock = new SynchronousClock();
      const model = new SortedTimers(tickMs, effects);
      const real = new WheelTimers(clock, { tickMs, buckets }, effects);
      for (const { kind, value } of operations) {
        if (kind === "schedule") for (const timers of [model, real]) timers.schedule(value);
        else if (kind === "cancel") expect(real.cancel(value)).toBe(model.cancel(value));
        else for (const timers of [model, real]) timers[kind](value);
        expect(real.runs.splice(0)).toEqual(model.runs.splice(0));
        expect(real.wheel.pending).toBe(model.pendingIds.length);
      }
      const stopped = new Set(real.wheel.stop());
      expect(real.timeouts.flatMap((timeout, id) => (stopped.has(timeout) ? [id] : []))).toEqual(
        model.pendingIds,
      );
      expect(clock.isArmed).toBe(false);
    });
    // A failure prints the seed and the smallest scenario.
    fc.assert(property, { numRuns: 200 });
  });
});
