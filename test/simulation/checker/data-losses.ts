import type { Belief, Excuse } from "./checker.js";
import type { Trouble } from "./trouble.js";

/** What makes a server forget, by the sort of fault. */
const SORTS = ["server-emptied", "server-older", "server-clock-step"];

/**
 * A server that has lost its data, or ends its keys early since its clock was set, gives away what somebody believes in, until a
 * renewal, or the end of a fixed lease, tells that one.
 */
export class DataLosses implements Excuse {
  readonly name = "believed after a loss of data";
  readonly #trouble: Trouble;

  constructor(trouble: Trouble) {
    this.#trouble = trouble;
  }

  excuses(_: string, one: Belief, other: Belief): boolean {
    return this.#trouble.hasSince(Math.min(one.startUs, other.startUs), SORTS);
  }

  /** Tokens grow for as long as the server keeps its data. */
  get mayRepeat(): boolean {
    return this.#trouble.happened("server-emptied", "server-older");
  }
}
