import type { Waiter } from "./waiter.js";

/**
 * Remembers when Redis last answered that the lock, or whatever the line waits for, is taken. A call may report this to its caller only if
 * the question was sent after the call began: an older answer says nothing about the time of the call, and no answer at all means an
 * outage.
 */
export class LineAnswers {
  /** When the question with that answer was sent, on the monotonic clock. */
  #takenMs = Number.NEGATIVE_INFINITY;
  /**
   * Waiters whose time is up and who do not know whether what they wait for is taken: the head asks Redis for them. Undefined while there
   * are none.
   */
  untold: Set<Waiter> | undefined;

  /** What the line waits for is taken. @param askedMs when the question was sent, on the monotonic clock */
  taken(askedMs: number): void {
    if (askedMs > this.#takenMs) this.#takenMs = askedMs;
    for (const waiter of this.untold ?? []) if (this.tell(waiter)) this.waitsNoMore(waiter);
  }

  /** @returns whether the waiter knows that what it waits for was taken at some time since its call began */
  tell(waiter: Waiter): boolean {
    if (!waiter.isTold && this.#takenMs >= waiter.startMs) waiter.told();
    return waiter.isTold;
  }

  /** The waiter's time is up, and it does not know yet whether what it waits for was taken. */
  wantedBy(waiter: Waiter): void {
    this.untold ??= new Set();
    this.untold.add(waiter);
  }

  /** The waiter now knows, or leaves the line. */
  waitsNoMore(waiter: Waiter): void {
    this.untold?.delete(waiter);
    if (this.untold?.size === 0) this.untold = undefined;
  }
}
