import type { Clock, Timer } from "../clock.js";
import type { HashedWheelTimer } from "./hashed-wheel-timer.js";

/** Something with an end that may still move. */
export interface Expiring {
  /**
   * Checks the clocks, and ends the thing if its time is over. Returns the time that is left; 0 if the thing has ended, or needs no alarm.
   */
  checkMs(): number;
}

/** How often the wall clock is checked for a jump, as after the machine was suspended. */
const JUMP_CHECK_MS = 1_000;

/**
 * Makes expiring things check the clocks when their time is over, each with an exact timer of its own. A timer that fires before the end is
 * set again, so an end that moves to a later time costs nothing. The monotonic clock, and timers with it, stand still while a machine is
 * suspended: so a regular check finds the ends that only the wall clock has passed.
 */
export class ExpiryAlarms {
  readonly #clock: Clock;
  readonly #wheel: HashedWheelTimer;
  readonly #timers = new Map<Expiring, Timer>();
  #beating = false;

  constructor(clock: Clock, wheel: HashedWheelTimer) {
    this.#clock = clock;
    this.#wheel = wheel;
  }

  /** Does nothing if the alarm is already set. */
  set(expiring: Expiring): void {
    if (this.#timers.has(expiring)) return;
    this.#arm(expiring);
    this.#beat();
  }

  cancel(expiring: Expiring): void {
    const timer = this.#timers.get(expiring);
    if (timer === undefined) return;
    timer.cancel();
    this.#timers.delete(expiring);
  }

  /** The end has moved, maybe to an earlier time: an existing alarm is set again. */
  moved(expiring: Expiring): void {
    if (!this.#timers.has(expiring)) return;
    this.cancel(expiring);
    this.#arm(expiring);
  }

  #arm(expiring: Expiring): void {
    const leftMs = expiring.checkMs();
    if (leftMs <= 0) this.#timers.delete(expiring);
    else
      this.#timers.set(
        expiring,
        this.#clock.schedule(leftMs, () => this.#arm(expiring)),
      );
  }

  #beat(): void {
    if (this.#beating || this.#timers.size === 0) return;
    this.#beating = true;
    this.#wheel.schedule(JUMP_CHECK_MS, () => {
      this.#beating = false;
      for (const expiring of [...this.#timers.keys()]) {
        if (expiring.checkMs() <= 0) this.cancel(expiring);
      }
      this.#beat();
    });
  }
}
