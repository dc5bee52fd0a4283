import type { Loss, Move, Reliances } from "../world/reliance.js";
import type { VirtualTime } from "../world/virtual-time.js";
import type { Entered, Excuse } from "./checker.js";
import type { Trouble } from "./trouble.js";

/** What makes a process miss the news. */
export const SLEEP: readonly string[] = ["stop", "suspend", "stall"];
/** One look at the slots, the longest command timeout, and some slack. */
const TOLD_WITHIN_US = 5_000_000;

/**
 * A slot has moved to a master whose replica lacks what it has, and which then has died. Who hears of the move asks there, and loses
 * what is not acknowledged; a process that stood still meanwhile hears of nothing, and believes until it has asked.
 */
export class SleptThrough implements Excuse {
  readonly name = "slept through a move and a failover";
  readonly #time: VirtualTime;
  readonly #trouble: Trouble;
  readonly #reliances: Reliances;

  constructor(time: VirtualTime, trouble: Trouble, reliances: Reliances) {
    this.#time = time;
    this.#trouble = trouble;
    this.#reliances = reliances;
  }

  excuses(name: string, one: Entered, other: Entered): boolean {
    const first = one.enteredUs <= other.enteredUs ? one : other;
    return this.#reliances
      .movesOf(name, first.startUs)
      .some((move) => this.#reliances.losses.some((loss) => this.#wasMissed(first, move, loss)));
  }

  #wasMissed({ process }: Entered, move: Move, loss: Loss): boolean {
    const { nowUs } = this.#time;
    return this.#trouble
      .spellsOf(process.name, SLEEP)
      .some(
        ({ fromUs, untilUs }) =>
          fromUs <= loss.untilUs && untilUs >= move.atUs && nowUs <= untilUs + TOLD_WITHIN_US,
      );
  }
}
