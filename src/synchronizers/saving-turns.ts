import type { Waiter } from "../runtime/waiter.js";

/** After a call has waited this long for several permits, permits are saved up for it. */
const SAVES_AFTER_MS = 1_000;
/** Permits are saved up no longer than this for a call that does not ask again. */
const SAVE_MS = 3_000;
/** How often the call asks again: two of its commands may be lost. */
export const ASKS_EACH_MS: number = SAVE_MS / 3;

/**
 * When permits are saved up for one call. It takes turns: saving lasts as long as the call had waited before, and then pauses for twice
 * that time. For as long as the latest turn was, Redis then saves nothing up for any call. So calls for few permits cannot keep this call
 * out; it cannot keep them out for ever if there are never enough permits; and similar calls have their turns in between.
 */
export class SavingTurns {
  readonly #waiter: Waiter;
  #turn: { readonly endMs: number; readonly lengthMs: number } | undefined;
  /** In the waiter's time, like all times here. */
  #savesFromMs = SAVES_AFTER_MS;

  constructor(waiter: Waiter) {
    this.#waiter = waiter;
  }

  /** How long to save permits up, from now on. */
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
