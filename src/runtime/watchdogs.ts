import type { Watchdog } from "./watchdog.js";

/**
 * The watchdogs that renew one type of a client's holds: the client's default, and one for each other lease that calls have asked for. A
 * watchdog with nothing to renew has no timer. The watchdogs are few, because the leases of calls are rounded: see `rungOf` in options.ts.
 */
export class Watchdogs {
  /** The client's default. */
  readonly usual: Watchdog;
  readonly #others: Watchdog[] = [];
  readonly #longestMs: number;
  readonly #make: (leaseMs: number) => Watchdog;

  /**
   * @param usualMs the lease of the client's default
   * @param longestMs no watchdog beats for a longer lease than this
   */
  constructor(usualMs: number, longestMs: number, make: (leaseMs: number) => Watchdog) {
    this.usual = make(Math.min(usualMs, longestMs));
    this.#longestMs = longestMs;
    this.#make = make;
  }

  /** The watchdog for a lease. */
  of(leaseMs: number): Watchdog {
    const ms = Math.min(leaseMs, this.#longestMs);
    if (ms === this.usual.leaseMs) return this.usual;
    let found = this.#others.find((watchdog) => watchdog.leaseMs === ms);
    if (found === undefined) {
      found = this.#make(ms);
      this.#others.push(found);
    }
    return found;
  }

  stop(): void {
    this.usual.stop();
    for (const watchdog of this.#others) watchdog.stop();
  }
}
