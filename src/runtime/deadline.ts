import type { ServerClock } from "./server-clocks.js";

/**
 * Once another server has the key, copies of earlier commands may arrive for at most this time after its first answer, whatever the clocks
 * say.
 */
const LONGEST_WAY_MS = 60_000;

/** A time on the clock of one server. Copies of a command that arrive after it change nothing. */
export class Deadline {
  readonly clock: ServerClock;
  readonly ms: number;
  /** How much time the command was given. */
  readonly #termMs: number;

  constructor(clock: ServerClock, ms: number, termMs: number) {
    this.clock = clock;
    this.ms = ms;
    this.#termMs = termMs;
  }

  /**
   * The deadline for copies of the command once another server has the key. That server compares deadlines with its own clock, where this
   * one may be long past or far ahead. So the new deadline is at least one more term from now, and at most `LONGEST_WAY_MS`.
   * @param nowMs the time on that clock
   */
  on(clock: ServerClock, nowMs: number): Deadline {
    if (clock === this.clock) return this;
    const ms = Math.min(Math.max(this.ms, nowMs + this.#termMs), nowMs + LONGEST_WAY_MS);
    return new Deadline(clock, ms, this.#termMs);
  }

  /** The later of this deadline and the deadline of an earlier command, on the clock of this deadline. */
  orLater(other: Deadline | undefined): Deadline {
    const same = other?.on(this.clock, this.clock.latestMs);
    return same !== undefined && same.ms > this.ms ? same : this;
  }
}
