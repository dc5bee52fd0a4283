import type { Clock } from "../clock.js";

/** A plain semaphore. */
interface SemaphoreKey {
  readonly key: string;
  readonly kind: string;
}

/** The permits of one plain semaphore that a client has taken and not given back. */
export interface Taken extends SemaphoreKey {
  permits: number;
  /** Since when the client has had permits of this semaphore, on the monotonic clock. */
  readonly sinceMs: number;
}

/** Bounds the memory to some hundred kilobytes. */
const MOST_NAMES = 1_000;

/**
 * Counts, for presence, the permits of plain semaphores that a client has taken and not given back. Redis stores no owner for them, and any
 * client may give them back: if other clients give back what this one takes, the number only grows.
 */
export class TakenPermits {
  readonly #clock: Clock;
  readonly #taken = new Map<string, Taken>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  took({ key, kind }: SemaphoreKey, permits: number): void {
    const known = this.#taken.get(key);
    if (known !== undefined) known.permits += permits;
    else if (permits > 0 && this.#taken.size < MOST_NAMES)
      this.#taken.set(key, { key, kind, permits, sinceMs: this.#clock.monotonicMs() });
  }

  gaveBack({ key }: SemaphoreKey, permits: number): void {
    const known = this.#taken.get(key);
    if (known === undefined) return;
    known.permits -= permits;
    if (known.permits <= 0) this.#taken.delete(key);
  }

  /** The semaphore is deleted, with all its permits. */
  forget({ key }: SemaphoreKey): void {
    this.#taken.delete(key);
  }

  all(): Iterable<Taken> {
    return this.#taken.values();
  }
}
