import type { Client } from "../client.js";
import type { Obstacle, UnavailableError } from "../errors.js";
import type { LockOptions } from "../options.js";
import type { AcquireAnswer } from "../protocol/lock-calls.js";
import type { Patience } from "../runtime/patience.js";
import type { Sighted } from "../runtime/signs-of-life.js";
import type { Waiter } from "../runtime/waiter.js";
import type { Hold } from "../threads/hold.js";
import type { Scope } from "../threads/scope.js";
import { makeTerms, type Terms } from "../threads/terms.js";
import type { Answered } from "./acquire.js";

/** What sets one call apart. */
interface Call {
  /** Whether a body is about to run in the hold, or a bare lease is handed out. */
  readonly form: "lock" | "using";
  /** Whether the call may wait. */
  readonly waits: boolean;
  readonly waiter: Waiter;
  /** How long to wait for an answer of Redis. Default: one command timeout. */
  readonly timeoutMs?: number | undefined;
  /** The lost hold in whose place one is to be taken. */
  readonly replaced?: Hold | undefined;
}

/** One call that wants a lock. Once its wait is cancelled, nothing is sent again for it. */
export class Wish implements Patience {
  readonly terms: Terms;
  readonly form: Call["form"];
  readonly waits: boolean;
  readonly waiter: Waiter;
  readonly timeoutMs: number | undefined;
  readonly replaced: Hold | undefined;
  /** The scope of `asThread` that a bare hold is to lie in. */
  takenIn: Scope | undefined;
  /** The hold of the other lock of the pair on whose strength the call may enter. */
  kin: Hold | undefined;
  /** True for one more hold of a stay that goes on: it may never become the first of another. */
  again = false;
  /** How often Redis was asked. */
  attempts = 0;
  /** Who was in the way when the lock was last seen. */
  obstacle: Obstacle | undefined;
  /** Why it was not even asked for: nobody knows what the last stay under the same id has left. */
  unanswered: UnavailableError | undefined;
  /** The first attempt, where it was made before anything was to be waited for. */
  first: Promise<Answered<AcquireAnswer> | undefined> | undefined;
  /** The place in the lock's queue that the latest attempt has found. */
  place: QueuePlace | undefined;

  constructor({ settings, usualTerms }: Client, { leaseMs, maxHoldMs }: LockOptions, call: Call) {
    const { watchdogMs, clockSkewMs } = settings;
    const isUsual = leaseMs === undefined && maxHoldMs === undefined;
    this.terms = isUsual
      ? usualTerms
      : makeTerms({
          leaseMs: leaseMs ?? watchdogMs,
          renewed: leaseMs === undefined,
          maxHoldMs,
          clockSkewMs,
        });
    this.form = call.form;
    this.waits = call.waits;
    this.waiter = call.waiter;
    this.timeoutMs = call.timeoutMs;
    this.replaced = call.replaced;
  }

  get cancelled(): boolean {
    return this.waiter.cancelled;
  }

  get leaseMs(): number {
    return this.terms.leaseMs;
  }
}

/** The answer that a caller stands in a lock's queue: until it was asked for, nobody had given it the lock. */
export interface QueuePlace extends Sighted {
  /** Milliseconds until the lock falls by itself; undefined unless this is the next in line and knows. */
  readonly fallsInMs: number | undefined;
}
