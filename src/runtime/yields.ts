/** Far longer than a waiter near the server takes to hear of a release and to ask, and short for the line that yields. */
const SHORTEST_MS = 5;
/** Enough for a waiter that is 200 ms away from the server, one way. */
const LONGEST_MS = 400;
/** After a yield that no client used, the next one is so many times as long. */
const GROWTH = 4;
/**
 * A client listens for so long after it has waited: until then one that has used a yield may still listen, but not wait, and yields do not
 * grow.
 */
const USERS_STAY_MS = 10_000;
/** A line earns a millisecond of yields in so many. */
const EARNING_MS = 20;
/** What is saved up at most: enough to grow from the shortest yield to the longest. */
const MOST_SAVED_MS = 900;

/** Shared by the lines of a client: the longest yield that another client has used so far. */
export interface UsableYield {
  ms: number;
}

export function usableYield(): UsableYield {
  return { ms: SHORTEST_MS };
}

/**
 * Says for how long a line leaves the lock to other clients after this client has freed it. Redis tells how many connections listen, but
 * not how far away they are, or whether they wait: so a yield that none of them used is followed by a longer one. All beyond the shortest
 * has to be earned, so that clients which listen and do not wait cost little. See docs/decisions/029-yields-grow-until-they-are-used.md.
 */
export class Yields {
  readonly #usable: UsableYield;
  #longestMs = 0;
  /** The latest yield; 0 once another client has used it. */
  #unusedMs = 0;
  /** On the monotonic clock. */
  #usedMs = Number.NEGATIVE_INFINITY;
  /** How many other connections heard of the latest release; undefined: not known. */
  #others: number | undefined;
  /** On the monotonic clock: what was earned since then was not spent. */
  #savingSinceMs = Number.NEGATIVE_INFINITY;

  constructor(usable: UsableYield) {
    this.#usable = usable;
  }

  /**
   * @param nowMs on the monotonic clock
   * @param others how many other connections listen; undefined when that is not known
   * @returns for how many milliseconds to leave the lock to them now; 0 when there are none
   */
  next(nowMs: number, others: number | undefined): number {
    if (this.#unusedMs > 0 && nowMs - this.#usedMs > USERS_STAY_MS) {
      this.#longestMs = Math.max(this.#longestMs, Math.min(GROWTH * this.#unusedMs, LONGEST_MS));
    }
    // A client that begins to listen waits for the lock, and may be farther away than all before.
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

  /** Another client was given what was freed: it needs no yield. */
  given(nowMs: number): void {
    this.#unusedMs = 0;
    this.#usedMs = nowMs;
  }

  /** Another client was seen to hold the lock, or a message told of its release: it has used the latest yield. */
  used(nowMs: number): void {
    if (this.#unusedMs === 0) return;
    this.#savingSinceMs = Number.NEGATIVE_INFINITY;
    this.#usable.ms = Math.max(this.#usable.ms, this.#unusedMs);
    this.#unusedMs = 0;
    this.#usedMs = nowMs;
  }
}
