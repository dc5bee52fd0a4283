import { inspect } from "node:util";
import type { Clock, Timer } from "../clock.js";
import { environment } from "../environment.js";
import { Link, Ring } from "../linked.js";

/** How many buckets one turn of the wheel has. */
const BUCKETS = 512;

/**
 * Many timeouts on one timer of the clock: scheduling and cancelling cost O(1). For timeouts that are mostly cancelled and may fire up to
 * one tick late, but never early.
 *
 * Ticks are counted from the creation of the wheel. A timeout with deadline d belongs to tick ceil(d / tickMs) and to bucket tick mod
 * buckets. It stores that tick, not a count of remaining turns. So after sleep or a stall, the wheel need not go through empty turns.
 *
 * All tasks run on one timer, in the async context of the call that happened to set it; give the wheel a clock that leaves that context. An
 * error thrown by a task becomes a process warning.
 *
 * @see Netty, `io.netty.util.HashedWheelTimer`; Varghese and Lauck, "Hashed and Hierarchical Timing Wheels"
 */
export class HashedWheelTimer {
  readonly #clock: Clock;
  readonly #tickMs: number;
  /** The start of tick 0. A whole number of milliseconds, like ticks, so that times since then need no rounding. */
  readonly #startMs: number;
  /** Each bucket is created for its first timeout: most clients need only a few of the hundreds. */
  readonly #buckets = new Array<Ring<WheelTimeout> | undefined>(BUCKETS).fill(undefined);
  /** The latest tick that the wheel has reached: the timeouts in the buckets belong to later ticks. */
  #lastTick = 0;
  /** The tick that the timer is set for. While tasks run, it is in the past, so that they set no other timer. */
  #wakeTick = Number.POSITIVE_INFINITY;
  #timer: Timer | undefined;
  #stopped = false;

  /** @param tickMs the resolution in whole milliseconds: a task runs at most this much late */
  constructor(clock: Clock, tickMs: number) {
    this.#clock = clock;
    this.#tickMs = tickMs;
    this.#startMs = Math.ceil(clock.monotonicMs());
  }

  /**
   * Runs `task` once, at the first tick at or after `delayMs` from now, and never within this call. Does not keep the process alive. Throws
   * if the wheel was stopped or the delay is not finite.
   */
  schedule(delayMs: number, task: () => void): Timer {
    if (!Number.isFinite(delayMs)) throw new RangeError(`delayMs must be a finite number, not ${delayMs}`);
    if (this.#stopped) throw new Error("the timing wheel was stopped and takes no more tasks");
    const nowMs = this.#clock.monotonicMs();
    const deadlineTick = Math.ceil((nowMs - this.#startMs + delayMs) / this.#tickMs);
    const timeout = new WheelTimeout(task, Math.max(deadlineTick, this.#tickAt(nowMs) + 1));
    const { tick } = timeout;
    this.#buckets[tick % BUCKETS] ??= new Ring();
    this.#buckets[tick % BUCKETS]?.add(timeout);
    if (tick < this.#wakeTick) this.#wakeAt(tick);
    return timeout;
  }

  /** Stops the wheel. Waiting tasks never run. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    for (const bucket of this.#buckets) for (const timeout of bucket ?? []) timeout.cancel();
  }

  #wakeAt(tick: number): void {
    this.#timer?.cancel();
    this.#wakeTick = tick;
    const delayMs = this.#startMs + tick * this.#tickMs - this.#clock.monotonicMs();
    this.#timer = this.#clock.schedule(Math.max(delayMs, 0), this.#onWake);
  }

  readonly #onWake = (): void => {
    for (const timeout of this.#turn()) {
      try {
        timeout.run();
      } catch (error) {
        environment.warn(`a task of the timing wheel threw: ${inspect(error)}`, "HoldfastWarning");
      }
    }
    // An empty wheel sets no timer here. A wheel that becomes empty between two ticks keeps its timer. A wheel that often empties and
    // refills would otherwise set a timer each time, while a needless wake-up happens only once.
    const next = this.#nextTick();
    if (next === undefined) this.#wakeTick = Number.POSITIVE_INFINITY;
    else this.#wakeAt(next);
  };

  /** Moves to the current tick. Each bucket is checked at most once, however many ticks have passed. */
  #turn(): readonly WheelTimeout[] {
    const tick = this.#tickAt(this.#clock.monotonicMs());
    const passed = Math.min(tick - this.#lastTick, BUCKETS);
    const due: WheelTimeout[] = [];
    for (let ahead = 1; ahead <= passed; ahead += 1) {
      for (const timeout of this.#buckets[(this.#lastTick + ahead) % BUCKETS] ?? []) {
        if (timeout.tick <= tick) due.push(timeout);
      }
    }
    this.#lastTick = tick;
    // Buckets are in tick order only within one turn. Timeouts of one tick keep their order.
    return due.sort((a, b) => a.tick - b.tick);
  }

  /** The next tick whose bucket is not empty, even if all of its timeouts belong to a later turn. */
  #nextTick(): number | undefined {
    for (let tick = this.#lastTick + 1; tick <= this.#lastTick + BUCKETS; tick += 1) {
      if (this.#buckets[tick % BUCKETS]?.isEmpty === false) return tick;
    }
    return undefined;
  }

  /** The latest tick that has begun at `nowMs`. */
  #tickAt(nowMs: number): number {
    return Math.max(Math.floor((nowMs - this.#startMs) / this.#tickMs), 0);
  }
}

class WheelTimeout extends Link implements Timer {
  readonly tick: number;
  /** Undefined after it has run or was cancelled, so that a kept handle does not keep the closure alive. */
  #task: (() => void) | undefined;

  constructor(task: () => void, tick: number) {
    super();
    this.#task = task;
    this.tick = tick;
  }

  cancel(): void {
    this.unlink();
    this.#task = undefined;
  }

  run(): void {
    const task = this.#task;
    this.cancel();
    task?.();
  }
}
