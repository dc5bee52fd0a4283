import type { Client } from "../client.js";
import type { ClientSettings } from "../client-options.js";
import type { Obstacle, UnavailableError } from "../errors.js";
import type { WaitEnd } from "../events.js";
import { type LockOptions, rungOf } from "../options.js";
import type { WaitingPlace } from "../protocol/lock-calls.js";
import type { Sighted } from "../runtime/fair-queue.js";
import type { Patience } from "../runtime/patience.js";
import type { Sighting } from "../runtime/sighting.js";
import type { WaitLine } from "../runtime/wait-line.js";
import type { Waiter } from "../runtime/waiter.js";
import type { Scope } from "../threads/scope.js";
import type { Hold } from "../threads/stay.js";
import { makeTerms, type Terms } from "../threads/terms.js";

/** What sets one call apart. */
interface Call {
  /** Whether a body is about to run in the hold, or a bare lease is handed out. */
  readonly form: "lock" | "using";
  /** Whether the call may wait. */
  readonly waits: boolean;
  readonly waiter: Waiter;
  /** How long to wait for an answer of Redis. Default: one command timeout. */
  readonly timeoutMs?: number | undefined;
  /** The lost hold that the call replaces. */
  readonly replaced?: Hold | undefined;
  /** Whether the waiter belongs to a larger call, which dismisses it. Default: false. */
  readonly isPart?: boolean;
  /** Whether the caller asks again soon where it does not get its turn in a stay: then it does not wait for that. Default: false. */
  readonly isAskedAgain?: boolean;
}

/** The holder that was in the way when the lock was last seen. */
export interface SeenObstacle extends Obstacle {
  /** On the monotonic clock of the client. */
  readonly seenMs: number;
}

/** The obstacle as errors tell it, with the time that its lease lasts from `nowMs` on. */
export function obstacleAt(nowMs: number, seen: SeenObstacle | undefined): Obstacle | undefined {
  if (seen === undefined) return undefined;
  const { holder, own } = seen;
  return { holder, ttlMs: leftMsOf(nowMs, seen), own };
}

/** How many milliseconds the lease of a holder lasts from `nowMs` on; negative where it does not end, or that is not known. */
export function leftMsOf(nowMs: number, { ttlMs, seenMs }: Sighting): number {
  return ttlMs < 0 ? ttlMs : Math.max(0, Math.round(seenMs + ttlMs - nowMs));
}

/** What a wish uses of the lock that it wants. */
interface WishedLock {
  readonly client: Client;
  readonly name: string;
}

/**
 * One call that wants a lock. Once its wait is cancelled, nothing is sent again for it.
 * @see docs/internals/states.md#one-acquisition
 */
export class Wish implements Patience {
  /** The lease, and for how long a hold may last; lengthened where it enters a stay whose holds need that. */
  terms: Terms;
  readonly form: Call["form"];
  readonly waits: boolean;
  readonly waiter: Waiter;
  readonly timeoutMs: number | undefined;
  readonly replaced: Hold | undefined;
  readonly isPart: boolean;
  readonly isAskedAgain: boolean;
  /** The scope of `asThread` that a bare hold is to lie in. */
  takenIn: Scope | undefined;
  /** The write hold beside which the call may read. */
  kin: Hold | undefined;
  /** True for one more hold of a stay that goes on: it may never become the first of another. */
  again = false;
  /** How often Redis was asked. */
  attempts = 0;
  /** Set where it waits on beyond its end for its turn behind another call: then one question of its own is enough. */
  once = false;
  /** Whether one of the attempts may have been carried out more than once. */
  repeated = false;
  /** The holder that was seen last, for the error. */
  obstacle: SeenObstacle | undefined;
  /** Set when Redis was not asked, as the outcome of the last stay under the same chosen id is unknown. */
  unanswered: UnavailableError | undefined;
  /** Whether it was told that the call is contended. */
  isContended = false;
  /** What has ended the wait. */
  waitEndedBy: WaitEnd = "free";
  /** The line of its client, where its next question is to put the client into the lock's queue. */
  queued: WaitLine | undefined;
  /** Where its client stands there, by the latest answer; undefined when it was another. */
  waiting: WaitingPlace | undefined;
  /** The place in the lock's queue that the latest attempt has found; undefined when it had another answer. */
  place: FoundPlace | undefined;

  constructor({ settings, usualTerms }: Client, options: LockOptions, call: Call) {
    const { leaseMs, maxHoldMs, watchdogMs, note } = options;
    const isUsual =
      leaseMs === undefined && maxHoldMs === undefined && watchdogMs === undefined && note === undefined;
    this.terms = isUsual ? usualTerms : termsOf(settings, options);
    this.form = call.form;
    this.waits = call.waits;
    this.waiter = call.waiter;
    this.timeoutMs = call.timeoutMs;
    this.replaced = call.replaced;
    this.isPart = call.isPart ?? false;
    this.isAskedAgain = call.isAskedAgain ?? false;
  }

  /** It enters a stay whose other holds need a longer lease: its own is as long, and renewed with theirs. */
  lengthen(leaseMs: number): void {
    this.terms = makeTerms({ ...this.terms, leaseMs, watchdogMs: leaseMs });
  }

  get cancelled(): boolean {
    return this.waiter.cancelled;
  }

  get leaseMs(): number {
    return this.terms.leaseMs;
  }

  /** An answer shows a holder of the lock. */
  saw({ client, name }: WishedLock, holder: string, ttlMs: number): void {
    const own = client.holdsAs(holder);
    this.obstacle = { holder, ttlMs, own, seenMs: client.clock.monotonicMs() };
    if (own) client.selfWaits.suspect(this.waiter, { name, holder });
  }
}

function termsOf(settings: ClientSettings, { leaseMs, maxHoldMs, watchdogMs, note }: LockOptions): Terms {
  const ownMs = watchdogMs === undefined ? undefined : rungOf(watchdogMs);
  return makeTerms({
    leaseMs: leaseMs ?? ownMs ?? settings.watchdogMs,
    renewed: leaseMs === undefined,
    maxHoldMs,
    clockSkewMs: settings.clockSkewMs,
    watchdogMs: ownMs,
    note,
  });
}

/** The answer that a call stands in a lock's queue: when that command was sent, the lock was not granted to it yet. */
export interface QueuePlace extends Sighted {
  /** Milliseconds until the lock falls by itself; undefined unless this is the next in line and knows. */
  readonly fallsInMs: number | undefined;
}

/** The answer to an attempt. */
export interface FoundPlace extends QueuePlace {
  /** Whether the attempt has put the caller's field into the queue, where it did not stand before. */
  readonly pushed: boolean;
  /** Whether a JVM may free the lock, and then tell on the channels of Redisson. */
  readonly meetsJvm: boolean;
  /** Whether the server may have run the attempt more than once. */
  readonly repeated: boolean;
}
