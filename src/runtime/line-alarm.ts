import type { Clock, Timer } from "../clock.js";

/** Fires once, at the earliest time that it was set for. */
export class LineAlarm {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #timer: Timer | undefined;
  /** On the monotonic clock. */
  #atMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Whether it fires at this time or earlier. */
  ringsBy(ms: number): boolean {
    return this.#timer !== undefined && this.#atMs <= ms;
  }

  /** Makes it fire at this time; an alarm for an earlier time stays. */
  setFor(ms: number): void {
    if (this.ringsBy(ms)) return;
    this.#timer?.cancel();
    const ring = () => {
      this.#timer = undefined;
      this.#ring();
    };
    this.#atMs = ms;
    this.#timer = this.#clock.schedule(Math.max(ms - this.#clock.monotonicMs(), 0), ring, true);
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
