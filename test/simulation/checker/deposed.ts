import type { Reliances } from "../world/reliance.js";
import type { Checker } from "./checker.js";
import type { Trouble } from "./trouble.js";

/** Replicas may be missed for these, without one of them being made the master: clients count anew then. */
const MISSED = ["replica cut off"];

/**
 * Between the moment at which a replica is made the master and that at which it is named, who waits for the replicas that there are
 * misses it, asks who the master is, and is given nothing by the old one.
 */
export class Deposed {
  readonly #checker: Checker;
  readonly #trouble: Trouble;
  readonly #reliances: Reliances;

  constructor(checker: Checker, trouble: Trouble, reliances: Reliances) {
    this.#checker = checker;
    this.#trouble = trouble;
    this.#reliances = reliances;
  }

  look(): void {
    const { promotion } = this.#reliances;
    if (promotion === undefined || this.#trouble.happened(...MISSED)) return;
    for (const { process, label, sinceUs, enteredUs } of this.#checker.believed) {
      if (sinceUs <= promotion.fromUs || enteredUs >= promotion.untilUs) continue;
      if (!this.#reliances.misses(process.name, promotion.fromUs)) continue;
      this.#checker.fail(
        "exclusion",
        `${label} was given by a server that is the master no more, to one who misses a replica`,
      );
    }
  }
}
