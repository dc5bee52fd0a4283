import type { Dial, WheelTimeout } from "./wheel-timeout.js";
import { append, drain, isEmpty, moveDue, newList, sortByTick, unlink } from "./wheel-timeout.js";

/** The lists of a wheel and its place in time, counted in ticks; the clock and the tasks are its timer's affair. */
export class WheelBuckets {
  readonly #dial: Dial;
  readonly #buckets: readonly WheelTimeout[];
  /** New timeouts, until the next tick: one that is cancelled before then costs no bucket anything. */
  readonly #incoming: WheelTimeout;
  readonly #due: WheelTimeout;
  /** The last tick whose bucket was looked at. */
  #lastTick = 0;

  constructor(dial: Dial) {
    this.#dial = dial;
    this.#buckets = Array.from({ length: dial.buckets }, () => newList(dial));
    this.#incoming = newList(dial);
    this.#due = newList(dial);
  }

  add(timeout: WheelTimeout): void {
    append(this.#incoming, timeout);
  }

  /** Puts new timeouts into their buckets, the oldest first and at most `max` of them. */
  transfer(max: number): void {
    for (let left = max; left > 0 && !isEmpty(this.#incoming); left -= 1) {
      const timeout = this.#incoming.next;
      // One that had to wait for its transfer longer than for its deadline fires with the next tick.
      if (timeout.tick <= this.#lastTick) timeout.tick = this.#lastTick + 1;
      unlink(timeout);
      append(this.#bucketAt(timeout.tick), timeout);
    }
  }

  /** Goes on to `tick`. Each bucket is looked at once at most, however many ticks have passed. */
  turnTo(tick: number): void {
    const passed = tick - this.#lastTick;
    const { buckets } = this.#dial;
    for (let ahead = 1; ahead <= Math.min(passed, buckets); ahead += 1) {
      moveDue(this.#bucketAt(this.#lastTick + ahead), tick, this.#due);
    }
    this.#lastTick = Math.max(tick, this.#lastTick);
    // Buckets are in the order of their ticks within one turn only.
    if (passed > buckets) sortByTick(this.#due);
  }

  /** The timeout to fire next, if one is due. It stays in its list until it is cancelled. */
  firstDue(): WheelTimeout | undefined {
    return isEmpty(this.#due) ? undefined : this.#due.next;
  }

  /** The next tick with something to do: a transfer, or a bucket that holds something, if only for a later turn. */
  nextTick(): number | undefined {
    if (!isEmpty(this.#incoming)) return this.#lastTick + 1;
    for (let ahead = 1; ahead <= this.#dial.buckets; ahead += 1) {
      if (!isEmpty(this.#bucketAt(this.#lastTick + ahead))) return this.#lastTick + ahead;
    }
    return undefined;
  }

  /** Empties all lists. */
  drain(): WheelTimeout[] {
    return [this.#due, ...this.#buckets, this.#incoming].flatMap(drain);
  }

  #bucketAt(tick: number): WheelTimeout {
    const bucket = this.#buckets[this.#dial.bucketOf(tick)];
    if (bucket === undefined) throw new Error(`the timing wheel has no bucket for tick ${tick}`);
    return bucket;
  }
}
