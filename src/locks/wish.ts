import type { Client } from "../client.js";
import type { Obstacle, UnavailableError } from "../errors.js";
import type { LockOptions } from "../options.js";
import type { Patience } from "../runtime/patience.js";
import type { Sighted } from "../runtime/signs-of-life.js";
import type { Waiter } from "../runtime/waiter.js";
import type { Hold } from "../threads/hold.js";
import type { Scope } from "../threads/scope.js";
import type { Terms } from "../threads/trust.js";

/** One call that wants a lock. */
export interface Wish {
  readonly terms: Terms;
  /** Whether a body is about to run in the hold, or a bare lease is handed out. */
  readonly form: "lock" | "using";
  /** Whether the call may wait. */
  readonly waits: boolean;
  /** How long to wait for an answer of Redis. Default: one command timeout. */
  readonly timeoutMs: number | undefined;
  /** The scope of `asThread` that a bare hold is to lie in. */
  takenIn: Scope | undefined;
  /** The lost hold in whose place one is to be taken. */
  readonly replaced: Hold | undefined;
  /** The hold of the other lock of the pair on whose strength the call may enter. */
  kin: Hold | undefined;
  readonly waiter: Waiter;
  /** True for one more hold of a stay that goes on: it may never become the first of another. */
  again: boolean;
  /** How often Redis was asked. */
  attempts: number;
  /** Who was in the way when the lock was last seen. */
  obstacle: Obstacle | undefined;
  /** Why it was not even asked for: nobody knows what the last stay under the same id has left. */
  unanswered: UnavailableError | undefined;
  /** The place in the lock's queue that the latest attempt has found. */
  place: QueuePlace | undefined;
}

/** A wish as the options say it. */
export function newWish(
  { settings }: Client,
  { leaseMs, maxHoldMs }: LockOptions,
  call: Pick<Wish, "form" | "waits" | "waiter" | "timeoutMs"> & Partial<Pick<Wish, "replaced">>,
): Wish {
  const { watchdogMs, clockSkewMs } = settings;
  return {
    replaced: undefined,
    ...call,
    terms: { leaseMs: leaseMs ?? watchdogMs, renewed: leaseMs === undefined, maxHoldMs, clockSkewMs },
    takenIn: undefined,
    kin: undefined,
    again: false,
    attempts: 0,
    obstacle: undefined,
    unanswered: undefined,
    place: undefined,
  };
}

/** The answer that a caller stands in a lock's queue: until it was asked for, nobody had given it the lock. */
export interface QueuePlace extends Sighted {
  /** Milliseconds until the lock falls by itself; undefined unless this is the next in line and knows. */
  readonly fallsInMs: number | undefined;
}

/** Once the wait is cancelled, nothing is sent again for it. */
export class WishPatience implements Patience {
  readonly #wish: Wish;

  constructor(wish: Wish) {
    this.#wish = wish;
  }

  get cancelled(): boolean {
    return this.#wish.waiter.cancelled;
  }

  get timeoutMs(): number | undefined {
    return this.#wish.timeoutMs;
  }

  get leaseMs(): number {
    return this.#wish.terms.leaseMs;
  }
}
