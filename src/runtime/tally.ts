import type { Clock } from "../clock.js";
import { TakenPermits } from "./taken-permits.js";

/** The subject of a call. */
interface CountedSubject {
  readonly key: string;
  readonly kind: string | { readonly name: string };
}

/** The results of the calls for one lock or semaphore. */
export interface CallStats {
  readonly key: string;
  readonly kind: string;
  /** How many calls have acquired the lock or semaphore after a wait. */
  waited: number;
  /** How many calls have ended without the lock or semaphore because it was not free in time. */
  notAcquired: number;
  /** How many holds were lost. */
  losses: number;
  /** The sum of the waits of all counted calls, and the longest wait. */
  waitMsSum: number;
  waitMsMax: number;
}

/** The loss of a hold. */
export interface SeenLoss {
  readonly key: string;
  readonly reason: string;
  /** On the monotonic clock. */
  readonly sinceMs: number;
}

/** The counts since the last `take`. */
export interface CountedCalls {
  readonly stats: ReadonlyMap<string, CallStats>;
  /** How many calls and losses were not counted because there were too many names. */
  uncounted: number;
}

/** Bounds the counts between two beats to some hundred kilobytes. */
const MOST_NAMES = 1_000;
const MOST_LOSSES = 10;

/**
 * Counts what a client's presence reports about its calls. A call that succeeds at once only adds to `Client.acquired`, so that it calls no
 * function here.
 */
export class Tally {
  /** The latest losses, the oldest first. */
  readonly losses: SeenLoss[] = [];
  readonly permits: TakenPermits;
  readonly #clock: Clock;
  #stats = new Map<string, CallStats>();
  #uncounted = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.permits = new TakenPermits(clock);
  }

  /**
   * A call has ended after a wait, or without what it wanted. A cancelled or failed call is not counted, because it says nothing about the
   * lock.
   */
  ended(subject: CountedSubject, end: string, { waitedMs }: { readonly waitedMs: number }): void {
    if (end !== "entered" && end !== "refused" && end !== "over") return;
    const stats = this.#of(subject);
    if (stats === undefined) return;
    if (end === "entered") stats.waited += 1;
    else stats.notAcquired += 1;
    stats.waitMsSum += waitedMs;
    stats.waitMsMax = Math.max(stats.waitMsMax, waitedMs);
  }

  lost(subject: CountedSubject, reason: string): void {
    const stats = this.#of(subject);
    if (stats !== undefined) stats.losses += 1;
    this.losses.push({ key: subject.key, reason, sinceMs: this.#clock.monotonicMs() });
    if (this.losses.length > MOST_LOSSES) this.losses.shift();
  }

  /** Takes the counts, to report them. */
  take(): CountedCalls {
    const counted = { stats: this.#stats, uncounted: this.#uncounted };
    this.#stats = new Map();
    this.#uncounted = 0;
    return counted;
  }

  /** The counts could not be reported: they are added to the next report. */
  putBack({ stats, uncounted }: CountedCalls): void {
    this.#uncounted += uncounted;
    for (const before of stats.values()) {
      const now = this.#of(before);
      if (now === undefined) continue;
      now.waited += before.waited;
      now.notAcquired += before.notAcquired;
      now.losses += before.losses;
      now.waitMsSum += before.waitMsSum;
      now.waitMsMax = Math.max(now.waitMsMax, before.waitMsMax);
    }
  }

  #of({ key, kind }: CountedSubject): CallStats | undefined {
    const kindName = typeof kind === "string" ? kind : kind.name;
    const id = `${kindName}:${key}`;
    const known = this.#stats.get(id);
    if (known !== undefined) return known;
    if (this.#stats.size >= MOST_NAMES) {
      this.#uncounted += 1;
      return undefined;
    }
    const none = { waited: 0, notAcquired: 0, losses: 0, waitMsSum: 0, waitMsMax: 0 };
    const stats = { key, kind: kindName, ...none };
    this.#stats.set(id, stats);
    return stats;
  }
}
