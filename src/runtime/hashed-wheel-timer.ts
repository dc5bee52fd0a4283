import { inspect } from "node:util";
import type { Clock, Timer } from "../clock.js";
import { environment } from "../environment.js";
import { Link, Ring } from "../linked.js";

/** Of one turn of the wheel. */
const BUCKETS = 512;

/**
 * Many timeouts on one timer of the clock: scheduling and cancelling cost O(1).
 * Made for timeouts that are mostly cancelled and may come up to a tick late, never early.
 *
 * Ticks are counted from the making of the wheel. A timeout with deadline d belongs to tick ceil(d / tickMs)
 * and to bucket tick mod buckets. It remembers that tick rather than a count of rounds to go, so that turns
 * with nothing to do need not be walked: neither those slept through nor those missed in a stall.
 *
 * All tasks run on one timer, in the asynchronous context of the call that happened to arm it; give the wheel a
 * clock that leaves that context. What a task throws becomes a warning of the process.
 *
 * @see Netty, `io.netty.util.HashedWheelTimer`; Varghese and Lauck, "Hashed and Hierarchical Timing Wheels"
 */
export class HashedWheelTimer {
  readonly #clock: Clock;
  readonly #tickMs: number;
  /** Where tick 0 begins. A whole number, as ticks are, so that no time since then is rounded. */
  readonly #startMs: number;
  /** Each is made for the first timeout in it: most clients need few of hundreds. */
  readonly #buckets = new Array<Ring<WheelTimeout> | undefined>(BUCKETS).fill(undefined);
  /** The last tick that the wheel has turned to: the timeouts in the buckets belong to later ones. */
  #lastTick = 0;
  /** For which the timer is armed; has passed while tasks run, which so arm no other. */
  #wakeTick = Number.POSITIVE_INFINITY;
  #timer: Timer | undefined;
  #stopped = false;

  /** @param tickMs the grain of time in whole milliseconds: a task runs at most this much late */
  constructor(clock: Clock, tickMs: number) {
    this.#clock = clock;
    this.#tickMs = tickMs;
    this.#startMs = Math.ceil(clock.monotonicMs());
  }

  /**
   * Runs `task` once, at the first tick at or after `delayMs` from now and never within this call. Does not
   * keep the process alive. Throws when the wheel was stopped or the delay is not finite.
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

  /** Ends the wheel. What still waits never runs. */
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
    // An empty wheel arms nothing here. Nothing cancels the timer when the wheel empties in between: one that
    // empties and fills all the time would pay for it each time, and the wake-up for nothing comes but once.
    const next = this.#nextTick();
    if (next === undefined) this.#wakeTick = Number.POSITIVE_INFINITY;
    else this.#wakeAt(next);
  };

  /** Goes on to the present tick. Each bucket is looked at once at most, however many ticks have passed. */
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
    // Buckets are in the order of their ticks within one turn only. Timeouts of one tick stay in the order in which they are.
    return due.sort((a, b) => a.tick - b.tick);
  }

  /** The next tick whose bucket holds something, if only for a later turn. */
  #nextTick(): number | undefined {
    for (let tick = this.#lastTick + 1; tick <= this.#lastTick + BUCKETS; tick += 1) {
      if (this.#buckets[tick % BUCKETS]?.isEmpty === false) return tick;
    }
    return undefined;
  }

  /** The last tick that has begun at `nowMs`. */
  #tickAt(nowMs: number): number {
    return Math.max(Math.floor((nowMs - this.#startMs) / this.#tickMs), 0);
  }
}

class WheelTimeout extends Link implements Timer {
  readonly tick: number;
  /** Undefined once it has run or was cancelled, so that a kept handle does not keep what it closes over. */
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
