import type { ServerClock } from "./server-clocks.js";

/** The longest time for which copies of earlier commands may be under way after another server's first answer, whatever the clocks say. */
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
   * The deadline for copies of the command once another server has the key. That server compares the deadline with its own clock, where it
   * may be long past or far ahead. So the new deadline is at least one more term from now, and at most `LONGEST_WAY_MS`.
   * @param nowMs the time on that clock
   */
  on(clock: ServerClock, nowMs: number): Deadline {
    if (clock === this.clock) return this;
    const ms = Math.min(Math.max(this.ms, nowMs + this.#termMs), nowMs + LONGEST_WAY_MS);
    return new Deadline(clock, ms, this.#termMs);
  }

  /** The later of this deadline and an earlier command's, on the clock of this one. */
  orLater(other: Deadline | undefined): Deadline {
    const same = other?.on(this.clock, this.clock.latestMs);
    return same !== undefined && same.ms > this.ms ? same : this;
  }
}
