import type { SentinelTopology } from "../world/sentinels.js";
import type { Belief, Excuse } from "./checker.js";

/**
 * After a failover the new master need not have what a client believes in that does not wait for all replicas, or was told that
 * they are short; and until it hears of the new master, such a client is given locks by the old one.
 */
export class FailoverLosses implements Excuse {
  readonly name = "failover-lost";
  readonly #topology: SentinelTopology;

  constructor(topology: SentinelTopology) {
    this.#topology = topology;
  }

  excuses(_: string, one: Belief, other: Belief): boolean {
    const startUs = Math.min(one.startUs, other.startUs);
    const isAfter = this.#topology.losses.some(({ untilUs }) => startUs <= untilUs);
    return isAfter && (this.#isUnsafe(one) || this.#isUnsafe(other));
  }

  /** Whether a token that was drawn may be drawn again. */
  get mayRepeat(): boolean {
    return this.#topology.losses.length > 0;
  }

  #isUnsafe({ process }: Belief): boolean {
    const reliance = this.#topology.reliances.get(process.name);
    if (reliance === undefined) return false;
    return reliance.mode === "auto" ? reliance.wasShort : !reliance.isSafe;
  }
}
