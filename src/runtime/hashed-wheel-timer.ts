import { inspect } from "node:util";
import type { Clock, Timer } from "../clock.js";
import { environment } from "../environment.js";
import { WheelBuckets } from "./wheel-buckets.js";
import { Dial, WheelTimeout } from "./wheel-timeout.js";

/** One scheduled task of a {@link HashedWheelTimer}. */
export interface Timeout {
  /** Drops the task. True if this call kept it from running; false if it ran, was cancelled or stopped before. */
  cancel(): boolean;
  /** The bucket of the wheel from which the task fires. */
  readonly bucket: number;
  /** Whole turns of the wheel still to come before the task fires. */
  readonly rounds: number;
  /** What to run; null once it has run or was cancelled, so that a kept handle does not keep what it closes over. */
  readonly task: (() => void) | null;
}

/** How a {@link HashedWheelTimer} is built. */
export interface HashedWheelTimerOptions {
  /** The grain of time in whole milliseconds: a task fires at most this much late. Default 100. */
  readonly tickMs?: number;
  /** Buckets of one turn, rounded up to a power of two, at most 2^20. Default 512. */
  readonly buckets?: number;
  /** How many timeouts may wait at once. Default: no bound. */
  readonly maxPending?: number;
  /** How many new timeouts one tick sorts into buckets; the rest follow at the next ticks. Default 100,000. */
  readonly maxTransfersPerTick?: number;
  /** Gets what a task threw. Default: a process warning. What it throws itself becomes a process warning. */
  readonly onError?: (error: unknown) => void;
}

const MAX_BUCKETS = 2 ** 20;
/** So few timeouts need not be in their buckets before the first of them is due. */
const FEW = 1_000;
const UNBOUNDED = Number.MAX_SAFE_INTEGER;

/**
 * Many timeouts on one timer of the clock: scheduling and cancelling cost O(1), and a timeout is 64 bytes.
 * Made for timeouts that are mostly cancelled and may come up to a tick late, never early.
 *
 * Ticks are counted from the making of the wheel. A timeout with deadline d belongs to tick ceil(d / tickMs)
 * and to bucket tick mod buckets. It remembers that tick rather than a count of rounds to go, so that turns
 * with nothing to do need not be walked: neither those slept through nor those missed in a stall.
 *
 * All tasks run on one timer, in the asynchronous context of the call that happened to arm it; give the wheel a
 * clock that leaves that context.
 *
 * @see Netty, `io.netty.util.HashedWheelTimer`; Varghese and Lauck, "Hashed and Hierarchical Timing Wheels"
 */
export class HashedWheelTimer {
  readonly #dial: Dial;
  readonly #buckets: WheelBuckets;
  readonly #maxPending: number;
  readonly #maxTransfersPerTick: number;
  readonly #onError: (error: unknown) => void;
  /** When the armed timer rings; lies in the past while tasks run, which so arm no other. */
  #wakeMs = Number.POSITIVE_INFINITY;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(clock: Clock, options: HashedWheelTimerOptions = {}) {
    const { tickMs = 100, buckets = 512, maxPending = UNBOUNDED, maxTransfersPerTick = 100_000 } = options;
    assertCount("tickMs", tickMs);
    assertCount("buckets", buckets, MAX_BUCKETS);
    assertCount("maxPending", maxPending);
    assertCount("maxTransfersPerTick", maxTransfersPerTick);
    this.#dial = new Dial(clock, tickMs, 2 ** Math.ceil(Math.log2(buckets)));
    this.#buckets = new WheelBuckets(this.#dial);
    this.#maxPending = maxPending;
    this.#maxTransfersPerTick = maxTransfersPerTick;
    this.#onError = options.onError ?? ((error) => warn("a task", error));
  }

  /** How many timeouts wait. */
  get pending(): number {
    return this.#dial.pending;
  }

  /**
   * Runs `task` once, at the first tick at or after `delayMs` from now and never within this call. Does not
   * keep the process alive. Throws when the wheel was stopped, `maxPending` is reached or the delay is not finite.
   */
  schedule(delayMs: number, task: () => void): Timeout {
    const dial = this.#dial;
    if (!Number.isFinite(delayMs)) throw new RangeError(`delayMs must be a finite number, not ${delayMs}`);
    if (this.#stopped) throw new Error("the timing wheel was stopped and takes no more tasks");
    if (dial.pending >= this.#maxPending) {
      throw new RangeError(`the timing wheel is full: ${dial.pending} timeouts wait (maxPending)`);
    }
    const nowMs = dial.clock.monotonicMs();
    const deadlineTick = Math.ceil((nowMs - dial.startMs + delayMs) / dial.tickMs);
    const nextTick = dial.tickAt(nowMs) + 1;
    const timeout = new WheelTimeout(dial, task, Math.max(deadlineTick, nextTick));
    this.#buckets.add(timeout);
    dial.pending += 1;
    const areMany = dial.pending > Math.min(FEW, this.#maxTransfersPerTick);
    const wakeTick = areMany ? nextTick : timeout.tick;
    if (this.#wakeMs > dial.startMs + wakeTick * dial.tickMs) this.#wakeAt(wakeTick, nowMs);
    return timeout;
  }

  /** Ends the wheel; returns the timeouts that were waiting, in no order. Stopping again returns none. */
  stop(): Timeout[] {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#dial.pending = 0;
    return this.#buckets.drain();
  }

  #wakeAt(tick: number, nowMs: number): void {
    this.#timer?.cancel();
    this.#wakeMs = this.#dial.startMs + tick * this.#dial.tickMs;
    const delayMs = Math.max(this.#wakeMs - nowMs, 0);
    this.#timer = this.#dial.clock.schedule(delayMs, this.#onWake);
  }

  readonly #onWake = (): void => {
    this.#buckets.transfer(this.#maxTransfersPerTick);
    this.#buckets.turnTo(this.#dial.tickAt(this.#dial.clock.monotonicMs()));
    this.#runDue();
    // An empty wheel arms nothing here. Nothing cancels the timer when the wheel empties in between: one that
    // empties and fills all the time would pay for it each time, and the wake-up for nothing comes but once.
    const next = this.#buckets.nextTick();
    if (next === undefined) this.#wakeMs = Number.POSITIVE_INFINITY;
    else this.#wakeAt(next, this.#dial.clock.monotonicMs());
  };

  #runDue(): void {
    for (let timeout = this.#buckets.firstDue(); timeout; timeout = this.#buckets.firstDue()) {
      const { task } = timeout;
      timeout.cancel();
      try {
        task?.();
      } catch (error) {
        this.#report(error);
      }
    }
  }

  #report(error: unknown): void {
    try {
      this.#onError(error);
    } catch (failure) {
      warn("onError", failure);
    }
  }
}

function assertCount(name: string, value: number, max = UNBOUNDED): void {
  if (Number.isInteger(value) && value >= 1 && value <= max) return;
  throw new RangeError(`${name} must be a whole number from 1 to ${max}, not ${value}`);
}

function warn(thrower: string, error: unknown): void {
  environment.warn(`${thrower} of the timing wheel threw: ${inspect(error)}`, "HoldfastWarning");
}
