import type { Waiter } from "../runtime/waiter.js";

/** A call that has waited this long for several permits gets permits saved up for it. */
const SAVES_AFTER_MS = 1_000;
/** If a call does not ask again, its permits stay saved up for this time at most. */
const SAVE_MS = 3_000;
/** How often the call asks again: two of its commands may be lost. */
export const ASKS_EACH_MS: number = SAVE_MS / 3;

/**
 * When permits are saved up for one call. Saving comes in turns, so that calls for few permits cannot keep this call waiting for ever. A
 * turn lasts as long as the call had waited before it. The pause after a turn is twice as long as the turn. In the first half of the pause,
 * Redis saves up permits for no call, so that calls for few permits do not wait for ever either. In the second half, other calls for
 * several permits may have a turn.
 */
export class SavingTurns {
  readonly #waiter: Waiter;
  #turn: { readonly endMs: number; readonly lengthMs: number } | undefined;
  /** In milliseconds since the waiter began, like all times of this class. */
  #savesFromMs = SAVES_AFTER_MS;

  constructor(waiter: Waiter) {
    this.#waiter = waiter;
  }

  /** How long Redis should save up permits from now on; 0: not at all. */
  get saveMs(): number {
    const { waitedMs } = this.#waiter;
    if (waitedMs < this.#savesFromMs) return 0;
    return this.#turn === undefined || waitedMs < this.#turn.endMs ? SAVE_MS : 0;
  }

  /** Records whether permits are saved up for the call now. */
  savedUp(saving: boolean): void {
    const { waitedMs } = this.#waiter;
    const turn = this.#turn;
    if (saving) this.#turn ??= { endMs: 2 * waitedMs, lengthMs: waitedMs };
    else if (turn !== undefined) {
      this.#turn = undefined;
      if (waitedMs >= turn.endMs) this.#savesFromMs = waitedMs + 2 * turn.lengthMs;
    }
  }
}
