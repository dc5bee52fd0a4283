import type { Reliances } from "../world/reliance.js";
import type { Belief, Excuse } from "./checker.js";

/**
 * After a failover the new master need not have what a client believes in that does not wait for all replicas, or was told that
 * they are short; and until it hears of the new master, such a client is given locks by the old one.
 */
export class FailoverLosses implements Excuse {
  readonly name = "failover-lost";
  readonly #reliances: Reliances;

  constructor(reliances: Reliances) {
    this.#reliances = reliances;
  }

  excuses(_: string, one: Belief, other: Belief): boolean {
    const startUs = Math.min(one.startUs, other.startUs);
    const isAfter = this.#reliances.losses.some(({ untilUs }) => startUs <= untilUs);
    return isAfter && [one, other].some(({ process }) => this.#reliances.isUnsafe(process.name));
  }

  /** Whether a token that was drawn may be drawn again. */
  get mayRepeat(): boolean {
    return this.#reliances.losses.length > 0;
  }
}
