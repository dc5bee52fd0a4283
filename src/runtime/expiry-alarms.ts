import type { Clock, Timer } from "../clock.js";
import type { HashedWheelTimer } from "./hashed-wheel-timer.js";

/** Something that ends by itself at a time that may still move. */
export interface Expiring {
  /** Looks at the clocks, and ends itself when its time is over. 0: it has ended, or its alarm is not needed. */
  checkMs(): number;
}

/** How often the wall clock is looked at for a jump, as after a suspended machine. */
const JUMP_CHECK_MS = 1_000;

/**
 * Makes things that expire look at the clocks when their time is over, by an exact timer each. It is moved only when
 * it runs out early, so that moving an end costs nothing. The monotonic clock stands still while a machine is
 * suspended and its timers with it: a slow beat finds the ends that only the wall clock has passed.
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

  /** Harmless when set already. */
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

  /** Its end lies elsewhere now, maybe earlier: if it has an alarm, that is set anew. */
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
