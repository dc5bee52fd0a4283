import type { Waiter } from "../runtime/waiter.js";

/** A call that has waited for so long for several permits has them saved up for it. */
const SAVES_AFTER_MS = 1_000;
/** Permits are saved up no longer than this for a call that does not ask again. */
const SAVE_MS = 3_000;
/** So often it asks again, so that two of its commands may be lost. */
export const ASKS_EACH_MS: number = SAVE_MS / 3;

/**
 * When permits are saved up for one call. It goes by turns: for as long as it has waited before, and then for twice that not. Redis saves
 * nothing up for anybody for as long as the latest turn was, so that neither those who want few permits keep it out, nor it them when there
 * will never be so many, and others of its kind have their turns in between.
 */
export class SavingTurns {
  readonly #waiter: Waiter;
  #turn: { readonly endMs: number; readonly lengthMs: number } | undefined;
  /** All as the waiter's time. */
  #savesFromMs = SAVES_AFTER_MS;

  constructor(waiter: Waiter) {
    this.#waiter = waiter;
  }

  /** For how long permits are to be saved up, from now on. */
  get saveMs(): number {
    const { waitedMs } = this.#waiter;
    if (waitedMs < this.#savesFromMs) return 0;
    return this.#turn === undefined || waitedMs < this.#turn.endMs ? SAVE_MS : 0;
  }

  /** Whether permits are saved up for it now. */
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
