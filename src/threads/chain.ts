import type { LeaseLostError, LossReason } from "../errors.js";
import { invariant } from "../invariant.js";
import type { Instant } from "../runtime/instant.js";
import type { HoldState } from "./held.js";
import type { ServerRecord } from "./server-record.js";
import type { Terms } from "./terms.js";

/** The stay of a holder. */
interface StayOfChain {
  readonly key: string;
  readonly field: string;
  inRedis: ServerRecord;
  chain: Chain | undefined;
  /** Its lease is about to be written. */
  renewing(): void;
  /** Redis names it now, with a lease that was asked for at `sentAt`. */
  named(sentAt: Instant): void;
  loseAll(reason: LossReason): void;
}

/** The one hold of such a stay. */
export interface Holder {
  readonly stay: StayOfChain;
  readonly state: HoldState;
  readonly loss: LeaseLostError | undefined;
  readonly terms: Terms;
}

/**
 * A lock that passes from call to call of one client without being free in between. One record says what Redis has of all
 * stays of the chain, and belongs to the latest of them.
 * @see docs/internals/states.md#hand-over
 */
export class Chain {
  /** How many holders have followed the first. */
  followers = 0;
  /** When the first holder handed the lock over, on the monotonic clock. */
  readonly sinceMs: number;
  /** The hold that has the lock now. */
  latest: Holder;
  /** Whether the latest holder has left, so that its release frees all names. */
  isOver = false;

  constructor(first: Holder, sinceMs: number) {
    this.latest = first;
    this.sinceMs = sinceMs;
  }

  /** One more holder has the lock, and the one before it has left. Their stays exchange their records. */
  pass(next: Holder): void {
    invariant(!this.isOver, "a lock is handed over that is being freed");
    const { stay: before } = this.latest;
    const { stay } = next;
    const { inRedis: record } = before;
    before.inRedis = stay.inRedis;
    before.inRedis.empty();
    stay.inRedis = record;
    stay.chain = this;
    record.handedOver(before.field, next.terms.leaseMs);
    this.latest = next;
    this.followers += 1;
  }

  /** The latest holder leaves. @returns the fields that its release has to free: Redis has one of them */
  leave(): readonly string[] {
    const { stay } = this.latest;
    this.isOver = true;
    stay.inRedis.endTurn();
    return stay.inRedis.names(stay.field);
  }
}
