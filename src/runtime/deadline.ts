import type { ServerClock } from "./server-clocks.js";

/**
 * The longest that copies of earlier commands are under way after another server has answered for the first time, whatever the clocks say.
 */
const LONGEST_WAY_MS = 60_000;

/** A time on the clock of one server: copies of a command that arrive later change nothing. */
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
   * The deadline for copies of the command once another server has the key. That server compares it with its own clock, by which it may be
   * long over or far off: so it is moved to one more term from now at least, and `LONGEST_WAY_MS` at most.
   * @param nowMs on that clock
   */
  on(clock: ServerClock, nowMs: number): Deadline {
    if (clock === this.clock) return this;
    const ms = Math.min(Math.max(this.ms, nowMs + this.#termMs), nowMs + LONGEST_WAY_MS);
    return new Deadline(clock, ms, this.#termMs);
  }

  /** The later one of this deadline and that of an earlier command, on the clock of this one. */
  orLater(other: Deadline | undefined): Deadline {
    const same = other?.on(this.clock, this.clock.latestMs);
    return same !== undefined && same.ms > this.ms ? same : this;
  }
}
