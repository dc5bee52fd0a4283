import type { Loss, Reliances } from "../world/reliance.js";
import type { Entered, Excuse } from "./checker.js";
import { ownersOf } from "./excuses.js";

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

  /**
   * A token may come again that was drawn for something which the new master lacks, or before it came there with its slot; and for one more
   * hold of the same stay, where the new master lacks the release of what it was drawn for and takes the next one for its repeat.
   */
  mayRepeat(name: string, drawn: Entered, again: Entered): boolean {
    if (this.#mayBeMissing(name, drawn) || this.#mayLackRelease(name, drawn, again)) return true;
    const hasMoved = this.#reliances.movesOf(name, drawn.startUs).length > 0;
    return hasMoved && this.#reliances.losses.some(({ untilUs }) => drawn.startUs <= untilUs);
  }

  #mayLackRelease(name: string, drawn: Entered, again: Entered): boolean {
    const owners = ownersOf(drawn, name);
    return (
      ownersOf(again, name).some((owner) => owners.includes(owner)) &&
      this.#reliances.losses.some(
        ({ fromUs, untilUs }) => drawn.enteredUs <= untilUs && fromUs <= again.enteredUs,
      )
    );
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
