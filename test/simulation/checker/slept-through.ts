import type { Reliances } from "../world/reliance.js";
import type { Belief, Excuse } from "./checker.js";
import type { Trouble } from "./trouble.js";

const MOVES = ["slot moves", "slot moves to one that dies"];
const SLEEP = ["stop", "suspend", "stall"];

/**
 * A slot has moved to a master whose replica lacks what it has, and which then has died. Who hears of the move asks there, and loses
 * what is not acknowledged; a process that stood still meanwhile hears of nothing, and believes until it has asked.
 */
export class SleptThrough implements Excuse {
  readonly name = "slept through a move and a failover";
  readonly #trouble: Trouble;
  readonly #reliances: Reliances;

  constructor(trouble: Trouble, reliances: Reliances) {
    this.#trouble = trouble;
    this.#reliances = reliances;
  }

  excuses(_: string, one: Belief, other: Belief): boolean {
    const { process, startUs } = one.startUs < other.startUs ? one : other;
    const hasMoved = this.#trouble.hasSince(startUs, MOVES);
    const hasDied = this.#reliances.losses.some(({ untilUs }) => untilUs >= startUs);
    return hasMoved && hasDied && this.#trouble.has(process.name, startUs, SLEEP);
  }
}
