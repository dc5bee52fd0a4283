import type { Loss, Reliances } from "../world/reliance.js";
import type { Entered, Excuse } from "./checker.js";

/**
 * After a failover the new master need not have what a client believes in that does not wait for all replicas, or was told that
 * they are short, or whose slot has moved; and until it hears of the new master, such a client is given locks by an old one that
 * goes on.
 */
export class FailoverLosses implements Excuse {
  readonly name = "failover-lost";
  readonly again = "token again: failover-lost";
  readonly #reliances: Reliances;

  constructor(reliances: Reliances) {
    this.#reliances = reliances;
  }

  excuses(name: string, one: Entered, other: Entered): boolean {
    const [first, second] = one.enteredUs <= other.enteredUs ? [one, other] : [other, one];
    return this.#mayBeMissing(name, first) || this.#mayBeOfTheOld(name, second);
  }

  /** A token may come again that was drawn for something which the new master lacks, or before it came there with its slot. */
  mayRepeat(name: string, drawn: Entered): boolean {
    if (this.#mayBeMissing(name, drawn)) return true;
    const hasMoved = this.#reliances.movesOf(name, drawn.startUs).length > 0;
    return hasMoved && this.#reliances.losses.some(({ untilUs }) => drawn.startUs <= untilUs);
  }

  #mayBeMissing(name: string, { process, startUs }: Entered): boolean {
    return this.#reliances.losses.some(
      (loss) => startUs <= loss.untilUs && this.#reliances.isUnsafe(process.name, name, startUs),
    );
  }

  #mayBeOfTheOld(name: string, { process, startUs, enteredUs }: Entered): boolean {
    const isOfThatTime = ({ fromUs, untilUs, goesOn }: Loss) =>
      goesOn && startUs <= untilUs && fromUs <= enteredUs;
    return this.#reliances.losses.some(isOfThatTime) && this.#reliances.isUnsafe(process.name, name, startUs);
  }
}
