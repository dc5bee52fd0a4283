import { type Clock, inLaterTurn, type Timer } from "../clock.js";

export interface FakeClockOptions {
  /** The wall clock's first value, in milliseconds since the Unix epoch. Default: 2026-11-20T00:00:00Z. */
  readonly epochMs?: number;
}

/** A realistic value, because some bugs only show with numbers of that size. */
const DEFAULT_EPOCH_MS = 1_795_132_800_000;

/** Differs from 0 and from the wall clock, so that tests notice a missing reading, or a reading of the wrong clock. */
const MONOTONIC_START_MS = 60_000;

/** Work has settled after this many turns of the event loop without a timer of this clock. A test may use `setImmediate` in between. */
const QUIET_TURNS = 3;

/** Work that is not finished after this many turns counts as endless. */
const MAX_TURNS = 100_000;

interface FakeTimer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/**
 * A clock that moves only when it is told to, for tests.
 *
 * Timers with a delay of 0 stand for the event loop and not for time: they fire by themselves, in a later turn of the real event loop. So
 * awaiting an operation on the embedded server needs no `advance`.
 */
export class FakeClock implements Clock {
  #wallMs: number;
  #monotonicMs = MONOTONIC_START_MS;
  /** In firing order. */
  readonly #sleeping: FakeTimer[] = [];
  readonly #firing = new Set<FakeTimer>();
  #lastAdvance: Promise<void> = Promise.resolve();

  constructor(options: FakeClockOptions = {}) {
    this.#wallMs = options.epochMs ?? DEFAULT_EPOCH_MS;
  }

  /** How many timers have neither fired nor been cancelled. */
  get pendingTimers(): number {
    return this.#sleeping.length + this.#firing.size;
  }

  /** @example const now = new Date(clock.wallMs()); */
  wallMs(): number {
    return this.#wallMs;
  }

  /** @example const startMs = clock.monotonicMs(); */
  monotonicMs(): number {
    return this.#monotonicMs;
  }

  /** @example const timer = clock.schedule(1_000, () => server.goAway()); */
  schedule(delayMs: number, callback: () => void): Timer {
    if (Number.isNaN(delayMs)) throw new RangeError("delayMs is not a number");
    const timer: FakeTimer = { dueMs: this.#monotonicMs + delayMs, callback };
    if (delayMs <= 0) this.#fireSoon(timer);
    else this.#sleeping.splice(this.#firstAfter(timer.dueMs), 0, timer);
    return { cancel: () => this.#cancel(timer) };
  }

  /**
   * Lets `ms` milliseconds pass on both clocks and fires the timers that fall due, in order. All work started by a timer (promises, answers
   * of the embedded server) has settled before the next timer fires and before `advance` resolves. A second call waits for the first.
   * Rejects with the error of a timer that throws.
   * @example await clock.advance(10_000);
   */
  advance(ms: number): Promise<void> {
    const advanced = this.#lastAdvance.then(() => this.#advance(ms));
    this.#lastAdvance = advanced.catch(() => undefined);
    return advanced;
  }

  /**
   * Simulates a machine that sleeps for `ms` milliseconds: the wall clock moves; the monotonic clock and the timers do not.
   * @example clock.suspend(60_000);
   */
  suspend(ms: number): void {
    this.#wallMs += ms;
  }

  /**
   * Simulates an event loop that is blocked for `ms` milliseconds: both clocks move and nothing runs. Timers that fell due meanwhile fire
   * afterwards by themselves, in a later turn.
   * @example clock.block(60_000);
   */
  block(ms: number): void {
    this.#moveTo(this.#monotonicMs + ms);
    while (this.#takeDue(this.#monotonicMs, (timer) => this.#fireSoon(timer)));
  }

  async #advance(ms: number): Promise<void> {
    if (!(ms >= 0)) throw new RangeError("time only moves forward");
    const untilMs = this.#monotonicMs + ms;
    await this.#settle();
    const fire = ({ dueMs, callback }: FakeTimer) => {
      this.#moveTo(Math.max(dueMs, this.#monotonicMs));
      callback();
    };
    while (this.#takeDue(untilMs, fire)) await this.#settle();
    // A callback may have blocked the event loop for longer than requested.
    this.#moveTo(Math.max(untilMs, this.#monotonicMs));
    await this.#settle();
  }

  async #settle(): Promise<void> {
    for (let turns = 0, quiet = 0; quiet < QUIET_TURNS; turns++) {
      if (turns === MAX_TURNS) throw new Error(`work has not settled after ${MAX_TURNS} turns`);
      await new Promise<void>(inLaterTurn);
      quiet = this.#firing.size === 0 ? quiet + 1 : 0;
    }
  }

  #takeDue(untilMs: number, take: (timer: FakeTimer) => void): boolean {
    const first = this.#sleeping[0];
    if (first === undefined || first.dueMs > untilMs) return false;
    this.#sleeping.shift();
    take(first);
    return true;
  }

  #fireSoon(timer: FakeTimer): void {
    this.#firing.add(timer);
    const fire = () => {
      if (this.#firing.delete(timer)) timer.callback();
    };
    inLaterTurn(fire);
  }

  #cancel(timer: FakeTimer): void {
    if (this.#firing.delete(timer)) return;
    const at = this.#sleeping.indexOf(timer);
    if (at >= 0) this.#sleeping.splice(at, 1);
  }

  /** The position for a timer that is due at `dueMs`: behind all timers that are due then or before. */
  #firstAfter(dueMs: number): number {
    let low = 0;
    let high = this.#sleeping.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#sleeping[middle]?.dueMs ?? 0) <= dueMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #moveTo(monotonicMs: number): void {
    if (!(monotonicMs >= this.#monotonicMs)) throw new RangeError("time only moves forward");
    this.#wallMs += monotonicMs - this.#monotonicMs;
    this.#monotonicMs = monotonicMs;
  }
}
