import type { Clock } from "../clock.js";

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

/**
 * The `Timeout` that callers get is its own list node: a list is a ring of timeouts around a head, which is one
 * without a task. A million may exist, so it has these five fields and nothing else: 64 bytes.
 */
export class WheelTimeout {
  /** Itself when in no list. */
  next: WheelTimeout = this;
  previous: WheelTimeout = this;

  constructor(
    readonly dial: Dial,
    public task: (() => void) | null,
    public tick: number,
  ) {}

  cancel(): boolean {
    if (isEmpty(this)) return false;
    unlink(this);
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

/** The head of a new list. */
export function newList(dial: Dial): WheelTimeout {
  return new WheelTimeout(dial, null, 0);
}

/** Whether nothing is linked to this head, or this timeout to any list. */
export function isEmpty(list: WheelTimeout): boolean {
  return list.next === list;
}

export function append(list: WheelTimeout, timeout: WheelTimeout): void {
  const last = list.previous;
  timeout.previous = last;
  timeout.next = list;
  last.next = timeout;
  list.previous = timeout;
}

export function unlink(timeout: WheelTimeout): void {
  timeout.previous.next = timeout.next;
  timeout.next.previous = timeout.previous;
  timeout.next = timeout;
  timeout.previous = timeout;
}

/** Empties the list into a new array. */
export function drain(list: WheelTimeout): WheelTimeout[] {
  const drained: WheelTimeout[] = [];
  while (!isEmpty(list)) {
    drained.push(list.next);
    unlink(list.next);
  }
  return drained;
}

/** Moves what is due by `tick` from one list to the end of another, in the order in which it is. */
export function moveDue(from: WheelTimeout, tick: number, to: WheelTimeout): void {
  for (let timeout = from.next; timeout !== from; ) {
    const { next } = timeout;
    if (timeout.tick <= tick) {
      unlink(timeout);
      append(to, timeout);
    }
    timeout = next;
  }
}

/** Orders by tick; timeouts of one tick stay in the order in which they are. */
export function sortByTick(list: WheelTimeout): void {
  const sorted = drain(list).sort((a, b) => a.tick - b.tick);
  for (const timeout of sorted) append(list, timeout);
}
