import type { Loss, Reliances } from "../world/reliance.js";
import type { Entered, Excuse } from "./checker.js";
import type { Trouble } from "./trouble.js";

/** What keeps a question, or its answer, away from where it is wanted. */
const DELAYS = [
  ...["cut", "late copy", "half-open", "slow requests", "slow replies"],
  ...["server stands still", "server restarts", "server full", "stop", "suspend", "stall"],
];

/**
 * After a failover the new master need not have what a client believes in that does not wait for all replicas, or was told that
 * they are short, or whose slot has moved; and until it hears of the new master, such a client is given locks by an old one that
 * goes on. So is, for the time of that message, one that is new and has not seen all replicas yet.
 */
export class FailoverLosses implements Excuse {
  readonly name = "failover-lost";
  readonly again = "token again: failover-lost";
  readonly #reliances: Reliances;
  readonly #trouble: Trouble;

  constructor(reliances: Reliances, trouble: Trouble) {
    this.#reliances = reliances;
    this.#trouble = trouble;
  }

  excuses(name: string, one: Entered, other: Entered): boolean {
    const [first, second] = one.enteredUs <= other.enteredUs ? [one, other] : [other, one];
    return this.#reliances.losses.some(
      (loss) =>
        (isBefore(loss, first) && this.#isAtRisk(name, first, loss)) ||
        (isOfTheOld(loss, second) && this.#isAtRisk(name, second, loss)),
    );
  }

  /**
   * A token may come again that was drawn for something which the new master lacks, or before it came there with its slot; one that an
   * old master gives comes after those of the new one. Who enters once more what he has already gets the token of the entry before,
   * where the new master lacks the release of that.
   */
  mayRepeat(name: string, drawn: Entered, again: Entered): boolean {
    const hasMoved = this.#reliances.movesOf(name, drawn.startUs).length > 0;
    const isReentry = ownersOf(drawn).some((owner) => ownersOf(again).includes(owner));
    return this.#reliances.losses.some(
      (loss) =>
        (isBefore(loss, drawn) && (hasMoved || isReentry || this.#mayLack(name, drawn))) ||
        (isOfTheOld(loss, again) && this.#mayLack(name, again)),
    );
  }

  /** Whether a new master may lack what this client was given. */
  #mayLack(name: string, belief: Entered): boolean {
    return this.#isUnsafe(name, belief) || this.#reliances.wasNew(belief.process.name, belief.startUs);
  }

  #isAtRisk(name: string, belief: Entered, loss: Loss): boolean {
    if (this.#isUnsafe(name, belief)) return true;
    return this.#mayLack(name, belief) && !this.#knowsOf(belief, loss);
  }

  /** Whether its client has heard of the new master, and has had the time to ask it. */
  #knowsOf({ process }: Entered, loss: Loss): boolean {
    const askedUs = this.#reliances.askedUs(process.name, loss);
    return askedUs !== undefined && !this.#trouble.has(process.name, askedUs, DELAYS);
  }

  #isUnsafe(name: string, { process, startUs, isKept }: Entered): boolean {
    // A release that too few replicas have has resolved all the same.
    const isShort = isKept === true && this.#reliances.isShort(process.name, startUs);
    return isShort || this.#reliances.isUnsafe(process.name, name, startUs);
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

function ownersOf({ parts }: Entered): readonly string[] {
  return parts.flatMap(({ owners }) => owners);
}
