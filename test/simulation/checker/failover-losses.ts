import type { Loss, Reliances } from "../world/reliance.js";
import type { Entered, Excuse } from "./checker.js";
import { ownersOf } from "./excuses.js";

/**
 * After a failover the new master need not have what a client believes in that does not wait for all replicas, or was told that
 * they are short, or whose slot has moved; and until it hears of the new master, such a client is given locks by an old one that
 * goes on. So is, for the time of that message, one that is new and has never known of the replica that becomes the master.
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
    return (
      this.#mayBeOfTheOld(name, second) ||
      this.#reliances.losses.some((loss) => isBefore(loss, first) && this.#isAtRisk(name, first, loss))
    );
  }

  #mayBeOfTheOld(name: string, belief: Entered): boolean {
    return this.#reliances.losses.some(
      (loss) => isOfTheOld(loss, belief) && this.#isAtRisk(name, belief, loss),
    );
  }

  /**
   * A token may come again that was drawn for something which the new master lacks, or before it came there with its slot; and for one more
   * hold of the same stay, where the new master lacks the release of what it was drawn for and takes the next one for its repeat. So may
   * one that an old master draws which goes on.
   */
  mayRepeat(name: string, drawn: Entered, again: Entered): boolean {
    if (this.#mayLackRelease(name, drawn, again) || this.#mayBeOfTheOld(name, again)) return true;
    const losses = this.#reliances.losses.filter((loss) => isBefore(loss, drawn));
    const { process, startUs } = drawn;
    const hasMoved = this.#reliances.movesOf(name, startUs).length > 0;
    return losses.some(
      (loss) => hasMoved || this.#isUnsafe(name, drawn) || this.#reliances.wasNewIn(process.name, loss),
    );
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

  #isAtRisk(name: string, belief: Entered, loss: Loss): boolean {
    const { name: process } = belief.process;
    if (this.#isUnsafe(name, belief)) return true;
    return this.#reliances.wasNewIn(process, loss) && !this.#reliances.knowsOf(process, loss);
  }

  #isUnsafe(name: string, { process, startUs }: Entered): boolean {
    return this.#reliances.isUnsafe(process.name, name, startUs);
  }
}

/** Whether something was asked for when the new master could not yet be known. */
function isBefore({ untilUs }: Loss, { startUs }: Entered): boolean {
  return startUs <= untilUs;
}

/** Whether it may have been given by an old master that went on. */
function isOfTheOld(loss: Loss, { startUs, enteredUs }: Entered): boolean {
  return loss.goesOn && startUs <= loss.untilUs && loss.fromUs <= enteredUs;
}
