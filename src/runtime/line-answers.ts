import type { Waiter } from "./waiter.js";

/**
 * When Redis has last answered one line that what it waits for is taken. A call may say so to its caller only if that was asked since the
 * call began: what was so before is no answer to it, and no answer at all is an outage.
 */
export class LineAnswers {
  /** When the question was sent that was answered so, on the monotonic clock. */
  #takenMs = Number.NEGATIVE_INFINITY;
  /** Those whose time is up, and that were not told since they came: the head asks for them. Undefined while there are none. */
  untold: Set<Waiter> | undefined;

  /** What the line waits for is taken. @param askedMs when that was asked, on the monotonic clock */
  taken(askedMs: number): void {
    if (askedMs > this.#takenMs) this.#takenMs = askedMs;
    for (const waiter of this.untold ?? []) if (this.tell(waiter)) this.waitsNoMore(waiter);
  }

  /** @returns whether the waiter knows that what it waits for was taken since it came */
  tell(waiter: Waiter): boolean {
    if (!waiter.isTold && this.#takenMs >= waiter.startMs) waiter.told();
    return waiter.isTold;
  }

  /** The time of a waiter is up, and it was not told. */
  wantedBy(waiter: Waiter): void {
    this.untold ??= new Set();
    this.untold.add(waiter);
  }

  /** It was told, or leaves the line. */
  waitsNoMore(waiter: Waiter): void {
    this.untold?.delete(waiter);
    if (this.untold?.size === 0) this.untold = undefined;
  }
}
