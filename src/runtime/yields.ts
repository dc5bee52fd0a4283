/**
 * The shortest yield: far longer than a waiter near the server needs to hear of a release and to ask, yet short for the client that yields.
 */
const SHORTEST_MS = 5;
/** The longest yield: enough for a waiter whose messages take 200 ms to the server. */
const LONGEST_MS = 400;
/** After a yield that no client used, the next one is this many times as long. */
const GROWTH = 4;
/**
 * A client keeps listening for this time after it has waited. So a client that once used a yield may still listen although it does not
 * wait; yields do not grow during this time.
 */
const USERS_STAY_MS = 10_000;
/** A line earns one millisecond of yield for each period of this length. */
const EARNING_MS = 20;
/** The most that a line can save: enough to grow from the shortest yield to the longest. */
const MOST_SAVED_MS = 900;

/** Shared by the lines of a client: the longest yield that another client has used so far. */
export interface UsableYield {
  ms: number;
}

export function usableYield(): UsableYield {
  return { ms: SHORTEST_MS };
}

/**
 * Decides the yield: how long a line, the waiting calls of this client, leaves the lock to other clients after this client has freed it.
 * Redis tells how many connections listen, but not how far away they are or whether they wait. So after a yield that no client used, the
 * next is longer. A line earns longer yields only slowly, so that clients that listen without waiting cost little. See
 * docs/decisions/029-yields-grow-until-they-are-used.md.
 */
export class Yields {
  readonly #usable: UsableYield;
  #longestMs = 0;
  /** The latest yield; 0 once another client has used it. */
  #unusedMs = 0;
  /** On the monotonic clock. */
  #usedMs = Number.NEGATIVE_INFINITY;
  /** How many other connections heard of the latest release; undefined: unknown. */
  #others: number | undefined;
  /** The time since which earned yields are unspent, on the monotonic clock. */
  #savingSinceMs = Number.NEGATIVE_INFINITY;

  constructor(usable: UsableYield) {
    this.#usable = usable;
  }

  /**
   * @param nowMs on the monotonic clock
   * @param others how many other connections listen; undefined: unknown
   * @returns for how many milliseconds to leave the lock to them now; 0 if there are none
   */
  next(nowMs: number, others: number | undefined): number {
    if (this.#unusedMs > 0 && nowMs - this.#usedMs > USERS_STAY_MS) {
      this.#longestMs = Math.max(this.#longestMs, Math.min(GROWTH * this.#unusedMs, LONGEST_MS));
    }
    // A client that has just begun to listen waits for the lock, and may be farther away than those that listened before.
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

  /** @returns false if less than `ms` is saved */
  #spend(nowMs: number, ms: number): boolean {
    const sinceMs = Math.max(this.#savingSinceMs, nowMs - MOST_SAVED_MS * EARNING_MS);
    if (nowMs - sinceMs < ms * EARNING_MS) return false;
    this.#savingSinceMs = sinceMs + ms * EARNING_MS;
    return true;
  }

  /** The release gave the lock to another client, which needs no yield. */
  given(nowMs: number): void {
    this.#unusedMs = 0;
    this.#usedMs = nowMs;
  }

  /** Another client has used the latest yield: it was seen to hold the lock, or a message told of its release. */
  used(nowMs: number): void {
    if (this.#unusedMs === 0) return;
    this.#savingSinceMs = Number.NEGATIVE_INFINITY;
    this.#usable.ms = Math.max(this.#usable.ms, this.#unusedMs);
    this.#unusedMs = 0;
    this.#usedMs = nowMs;
  }
}
