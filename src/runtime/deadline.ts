import type { ServerClock } from "./server-clocks.js";

/** So long after another server has answered for the first time no copy of what was sent before is under way, whatever the clocks say. */
const LONGEST_WAY_MS = 60_000;

/** On the clock of one server: copies of a command change nothing that arrive later. */
export class Deadline {
  readonly clock: ServerClock;
  readonly ms: number;
  /** The time that the command was given. */
  readonly #termMs: number;

  constructor(clock: ServerClock, ms: number, termMs: number) {
    this.clock = clock;
    this.ms = ms;
    this.#termMs = termMs;
  }

  /**
   * What goes for copies of the command when another server has the key. That one compares the deadline with its own clock, on
   * which it may be over since long, or far off: it is given its term anew at least, and `LONGEST_WAY_MS` at most.
   * @param nowMs on that clock
   */
  on(clock: ServerClock, nowMs: number): Deadline {
    if (clock === this.clock) return this;
    const ms = Math.min(Math.max(this.ms, nowMs + this.#termMs), nowMs + LONGEST_WAY_MS);
    return new Deadline(clock, ms, this.#termMs);
  }

  /** Of this one and an earlier command's the one that ends later, on the clock of this one. */
  orLater(other: Deadline | undefined): Deadline {
    const same = other?.on(this.clock, this.clock.latestMs);
    return same !== undefined && same.ms > this.ms ? same : this;
  }
}
