import { Ring } from "../linked.js";
import { type Dial, drain, moveDue, sortByTick, type WheelTimeout } from "./wheel-timeout.js";

/** The lists of a wheel and its place in time, counted in ticks; the clock and the tasks are its timer's affair. */
export class WheelBuckets {
  readonly #dial: Dial;
  /** Each is made for the first timeout in it: most clients need few of hundreds. */
  readonly #buckets: (Ring<WheelTimeout> | undefined)[];
  /** New timeouts, until the next tick: one that is cancelled before then costs no bucket anything. */
  readonly #incoming = new Ring<WheelTimeout>();
  readonly #due = new Ring<WheelTimeout>();
  /** The last tick that the wheel has turned to. */
  #lastTick = 0;

  constructor(dial: Dial) {
    this.#dial = dial;
    this.#buckets = new Array<Ring<WheelTimeout> | undefined>(dial.buckets).fill(undefined);
  }

  add(timeout: WheelTimeout): void {
    this.#incoming.add(timeout);
  }

  /** Puts new timeouts into their buckets, the oldest first and at most `max` of them. */
  transfer(max: number): void {
    let left = max;
    for (const timeout of this.#incoming) {
      if (left <= 0) return;
      left -= 1;
      // One that had to wait for its transfer longer than for its deadline fires with the next tick.
      if (timeout.tick <= this.#lastTick) timeout.tick = this.#lastTick + 1;
      timeout.unlink();
      const at = this.#dial.bucketOf(timeout.tick);
      this.#buckets[at] ??= new Ring();
      this.#buckets[at].add(timeout);
    }
  }

  /** Goes on to `tick`. Each bucket is looked at once at most, however many ticks have passed. */
  turnTo(tick: number): void {
    const passed = tick - this.#lastTick;
    const { buckets } = this.#dial;
    for (let ahead = 1; ahead <= Math.min(passed, buckets); ahead += 1) {
      const bucket = this.#bucketAt(this.#lastTick + ahead);
      if (bucket !== undefined) moveDue(bucket, tick, this.#due);
    }
    this.#lastTick = Math.max(tick, this.#lastTick);
    // Buckets are in the order of their ticks within one turn only.
    if (passed > buckets) sortByTick(this.#due);
  }

  /** The timeout to fire next, if one is due. It stays in its list until it is cancelled. */
  firstDue(): WheelTimeout | undefined {
    return this.#due.first;
  }

  /** The next tick with something to do: a transfer, or a bucket that holds something, if only for a later turn. */
  nextTick(): number | undefined {
    if (!this.#incoming.isEmpty) return this.#lastTick + 1;
    for (let ahead = 1; ahead <= this.#dial.buckets; ahead += 1) {
      if (this.#bucketAt(this.#lastTick + ahead)?.isEmpty === false) return this.#lastTick + ahead;
    }
    return undefined;
  }

  /** Empties all lists. */
  drain(): WheelTimeout[] {
    const buckets = this.#buckets.filter((bucket) => bucket !== undefined);
    return [this.#due, ...buckets, this.#incoming].flatMap(drain);
  }

  #bucketAt(tick: number): Ring<WheelTimeout> | undefined {
    return this.#buckets[this.#dial.bucketOf(tick)];
  }
}
