/** Far more than a waiter near by takes to ask once it was told, and little beside what others have to do. */
const SHORTEST_MS = 5;
/** For waiters whose way to the server takes 200 ms. */
const LONGEST_MS = 400;
/** How many times as long as one that nobody used the next yield is. */
const GROWTH = 4;
/** A client listens for so long after it has waited: whoever has used a yield may come back. */
const USERS_STAY_MS = 10_000;
/** A line earns a millisecond of yields in so many. */
const EARNING_MS = 20;
/** What is saved up at most: enough to find out how far away somebody is. */
const MOST_SAVED_MS = 900;

/** What the lines of a client have found out together: how long a yield is that somebody far away can use. */
export interface UsableYield {
  ms: number;
}

export function usableYield(): UsableYield {
  return { ms: SHORTEST_MS };
}

/**
 * How long a line leaves the lock to others after this client has freed it while they listen. Nobody can know how far away
 * they are, or whether they wait: a yield that none of them used is followed by a longer one. All beyond the shortest has to be
 * earned, so that those who listen and do not wait cost little. See docs/decisions/029-yields-grow-until-they-are-used.md.
 */
export class Yields {
  readonly #usable: UsableYield;
  #longestMs = 0;
  /** The latest, unless somebody has used it. */
  #unusedMs = 0;
  /** On the monotonic clock. */
  #usedMs = Number.NEGATIVE_INFINITY;
  /** How many others listened at the latest; undefined: nobody knows. */
  #others: number | undefined;
  /** On the monotonic clock: what was earned since then was not spent. */
  #savingSinceMs = Number.NEGATIVE_INFINITY;

  constructor(usable: UsableYield) {
    this.#usable = usable;
  }

  /**
   * @param nowMs on the monotonic clock
   * @param others how many listen; undefined when nobody knows
   * @returns for how many milliseconds to leave the lock to them now; 0 when there are none
   */
  next(nowMs: number, others: number | undefined): number {
    if (this.#unusedMs > 0 && nowMs - this.#usedMs > USERS_STAY_MS) {
      this.#longestMs = Math.max(this.#longestMs, Math.min(GROWTH * this.#unusedMs, LONGEST_MS));
    }
    // Who begins to listen waits for the lock, and may be farther away than all before.
    if (others !== undefined && others > (this.#others ?? others)) {
      this.#usedMs = Number.NEGATIVE_INFINITY;
      this.#savingSinceMs = Number.NEGATIVE_INFINITY;
    }
    this.#others = others;
    if (others !== undefined && others <= 0) {
      this.#unusedMs = 0;
      return 0;
    }
    const ms = Math.max(this.#usable.ms, this.#longestMs);
    this.#unusedMs = this.#spend(nowMs, ms - SHORTEST_MS) ? ms : SHORTEST_MS;
    return this.#unusedMs;
  }

  /** @returns false when so much is not there */
  #spend(nowMs: number, ms: number): boolean {
    const sinceMs = Math.max(this.#savingSinceMs, nowMs - MOST_SAVED_MS * EARNING_MS);
    if (nowMs - sinceMs < ms * EARNING_MS) return false;
    this.#savingSinceMs = sinceMs + ms * EARNING_MS;
    return true;
  }

  /** Another client was seen to have the lock, or to have given it back: whoever it is waits now and then. */
  used(nowMs: number): void {
    if (this.#unusedMs === 0) return;
    this.#savingSinceMs = Number.NEGATIVE_INFINITY;
    this.#usable.ms = Math.max(this.#usable.ms, this.#unusedMs);
    this.#unusedMs = 0;
    this.#usedMs = nowMs;
  }
}
