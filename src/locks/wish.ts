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

/** The properties of one call. */
interface Call {
  /** `using`: a body runs in the hold; `lock`: a lease without a body is returned. */
  readonly form: "lock" | "using";
  /** Whether the call may wait. */
  readonly waits: boolean;
  readonly waiter: Waiter;
  /** How long to wait for an answer of Redis. Default: one command timeout. */
  readonly timeoutMs?: number | undefined;
  /** The lost hold that the call replaces. */
  readonly replaced?: Hold | undefined;
  /** Whether the waiter belongs to a call for several locks, which dismisses the waiter. Default: false. */
  readonly isPart?: boolean;
  /**
   * Whether the caller will soon make a new call if this call gets no turn in a stay: then this call does not wait for the turn. Default:
   * false.
   */
  readonly isAskedAgain?: boolean;
}

/** The holder that was last seen. */
export interface SeenObstacle extends Obstacle {
  /** On the monotonic clock of the client. */
  readonly seenMs: number;
}

/** The obstacle for an error, with its remaining lease at `nowMs`. */
export function obstacleAt(nowMs: number, seen: SeenObstacle | undefined): Obstacle | undefined {
  if (seen === undefined) return undefined;
  const { holder, own } = seen;
  return { holder, ttlMs: leftMsOf(nowMs, seen), own };
}

/** How many milliseconds a holder's lease lasts from `nowMs` on; negative if it does not end or its end is unknown. */
export function leftMsOf(nowMs: number, { ttlMs, seenMs }: Sighting): number {
  return ttlMs < 0 ? ttlMs : Math.max(0, Math.round(seenMs + ttlMs - nowMs));
}

/** The part of a lock that a wish uses. */
interface WishedLock {
  readonly client: Client;
  readonly name: string;
}

/**
 * One call for a lock. Once its wait is cancelled, nothing more is sent for it.
 * @see docs/internals/states.md#one-acquisition
 */
export class Wish implements Patience {
  /** The lease, and the longest time for the hold. Lengthened when the call enters a stay that needs a longer lease. */
  terms: Terms;
  readonly form: Call["form"];
  readonly waits: boolean;
  readonly waiter: Waiter;
  readonly timeoutMs: number | undefined;
  readonly replaced: Hold | undefined;
  readonly isPart: boolean;
  readonly isAskedAgain: boolean;
  /** The scope of `asThread` that a hold without a body belongs to. */
  takenIn: Scope | undefined;
  /** The write hold beside which the call may read. */
  kin: Hold | undefined;
  /** True for one more hold of an existing stay: it may never become the first hold of another stay. */
  again = false;
  /** How many times Redis was asked. */
  attempts = 0;
  /**
   * Set when the call still waits behind another call after its own time is up, to learn whether the lock is taken. It then asks at most
   * once.
   */
  once = false;
  /** Whether one of the attempts may have run more than once. */
  repeated = false;
  /** The holder that was seen last, for the error. */
  obstacle: SeenObstacle | undefined;
  /** Set when Redis was not asked because the outcome of the last stay under the same chosen id is unknown. */
  unanswered: UnavailableError | undefined;
  /** Whether the call was published as contended. */
  isContended = false;
  /** What ended the wait. */
  waitEndedBy: WaitEnd = "free";
  /** The waiting calls of its client, if the next question should put the client into the lock's queue. */
  queued: WaitLine | undefined;
  /** The client's place in the lock's queue; undefined if the latest answer gives none. */
  waiting: WaitingPlace | undefined;
  /** The call's own place in the queue of a fair lock; undefined if the latest attempt gave none. */
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

  /**
   * The call enters a stay whose other holds have a longer lease: its own lease becomes as long, and is renewed together with the other
   * leases.
   */
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

/** The answer that a call is in a lock's queue. When the command with this answer was sent, the lock was not granted to the call yet. */
export interface QueuePlace extends Sighted {
  /** Milliseconds until the lock expires; undefined unless this call is next in the queue and knows the TTL. */
  readonly fallsInMs: number | undefined;
}

/** The answer to an attempt. */
export interface FoundPlace extends QueuePlace {
  /** Whether the attempt put the caller's field into the queue, where it was not before. */
  readonly pushed: boolean;
  /** Whether a JVM may free the lock and then publish on Redisson's channels. */
  readonly meetsJvm: boolean;
  /** Whether the server may have run the attempt more than once. */
  readonly repeated: boolean;
}
