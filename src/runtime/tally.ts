import type { Clock } from "../clock.js";
import { TakenPermits } from "./taken-permits.js";

/** What a call was about. */
interface CountedSubject {
  readonly key: string;
  readonly kind: string | { readonly name: string };
}

/** What calls for one lock, or one semaphore, have come to. */
export interface CallStats {
  readonly key: string;
  readonly kind: string;
  /** How many have acquired it after a wait. */
  waited: number;
  /** How many have ended without it, as it was not free in the time that they had. */
  notAcquired: number;
  /** How many holds were lost. */
  losses: number;
  /** For how long all these calls have waited, and the one that has waited longest. */
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

/** What was counted since it was last taken. */
export interface CountedCalls {
  readonly stats: ReadonlyMap<string, CallStats>;
  /** How many were not counted, as there were too many names. */
  uncounted: number;
}

/** What is counted between two beats takes some hundred kilobytes at most. */
const MOST_NAMES = 1_000;
const MOST_LOSSES = 10;

/**
 * Counts what a client's presence tells of its calls, apart from those that have had what they want at once: those are a number that
 * `Client.acquired` counts, so that they call no function for it.
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

  /** A call has ended that had to wait, or has not got what it wanted. One that was cancelled or has failed tells nothing of the lock. */
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

  /** What was counted, to be told. */
  take(): CountedCalls {
    const counted = { stats: this.#stats, uncounted: this.#uncounted };
    this.#stats = new Map();
    this.#uncounted = 0;
    return counted;
  }

  /** It could not be told: it is part of what is told next. */
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
