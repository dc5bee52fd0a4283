import { invariant } from "../invariant.js";

const BOTH = "two commands of a stay are under way";

/**
 * The commands of one stay. They run one after the other, so that the hold count before each command is known.
 * @see docs/internals/states.md#what-redis-has-of-a-stay
 */
export class Turns {
  /** The latest command; true if no other command waits behind it yet. */
  #turn: Promise<unknown> | true | undefined;
  /** Wakes the command that waits behind a turn that is `true`. */
  #turnEnds: (() => void) | undefined;

  /** Whether a command is under way. */
  get isChanging(): boolean {
    return this.#turn !== undefined;
  }

  /** Sends a command once all earlier ones have been answered. */
  async inTurn<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#turn === true ? this.#endOfTurn() : this.#turn;
    const mine = before === undefined ? work() : before.then(work, work);
    invariant(before !== undefined || this.#turn === undefined, BOTH);
    this.#turn = mine;
    try {
      return await mine;
    } finally {
      if (this.#turn === mine) this.#turn = undefined;
    }
  }

  /** Begins the turn of a command that is sent without {@link inTurn}; no other command may be under way. */
  beginTurn(): void {
    invariant(this.#turn === undefined, BOTH);
    this.#turn = true;
  }

  /** Whether a command waits for the end of a turn. */
  get isAwaited(): boolean {
    return this.#turn !== undefined && (this.#turn !== true || this.#turnEnds !== undefined);
  }

  endTurn(): void {
    if (this.#turn === true) this.#turn = undefined;
    this.#turnEnds?.();
    this.#turnEnds = undefined;
  }

  #endOfTurn(): Promise<void> {
    return new Promise((resolve) => {
      this.#turnEnds = resolve;
    });
  }
}
