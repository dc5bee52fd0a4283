import type { Clock } from "../clock.js";
import { Link, type Ring } from "../linked.js";

/** What a timeout must know of its wheel. Less than the wheel, so that a kept handle does not keep its buckets. */
export class Dial {
  /** Where tick 0 begins. A whole number, as ticks are, so that no time since then is rounded. */
  readonly startMs: number;
  /** How many timeouts wait on this wheel. */
  pending = 0;

  /** `buckets` is a power of two. */
  constructor(
    readonly clock: Clock,
    readonly tickMs: number,
    readonly buckets: number,
  ) {
    this.startMs = Math.ceil(clock.monotonicMs());
  }

  /** The last tick that has begun at `nowMs`. */
  tickAt(nowMs: number): number {
    return Math.max(Math.floor((nowMs - this.startMs) / this.tickMs), 0);
  }

  /** The number of the bucket in which the timeouts of a tick lie. */
  bucketOf(tick: number): number {
    return tick & (this.buckets - 1);
  }
}

/** The `Timeout` that callers get. A million may exist, so it has three fields besides those of a link: 64 bytes. */
export class WheelTimeout extends Link {
  constructor(
    readonly dial: Dial,
    public task: (() => void) | null,
    public tick: number,
  ) {
    super();
  }

  cancel(): boolean {
    if (!this.isLinked) return false;
    this.unlink();
    this.task = null;
    this.dial.pending -= 1;
    return true;
  }

  get bucket(): number {
    return this.dial.bucketOf(this.tick);
  }

  get rounds(): number {
    const { clock, buckets } = this.dial;
    return Math.max(Math.floor((this.tick - this.dial.tickAt(clock.monotonicMs())) / buckets), 0);
  }
}

/** Empties the list into a new array. */
export function drain(list: Ring<WheelTimeout>): WheelTimeout[] {
  const drained = [...list];
  for (const timeout of drained) timeout.unlink();
  return drained;
}

/** Moves what is due by `tick` from one list to the end of another, in the order in which it is. */
export function moveDue(from: Ring<WheelTimeout>, tick: number, to: Ring<WheelTimeout>): void {
  for (const timeout of from) {
    if (timeout.tick > tick) continue;
    timeout.unlink();
    to.add(timeout);
  }
}

/** Orders by tick; timeouts of one tick stay in the order in which they are. */
export function sortByTick(list: Ring<WheelTimeout>): void {
  const sorted = drain(list).sort((a, b) => a.tick - b.tick);
  for (const timeout of sorted) list.add(timeout);
}
