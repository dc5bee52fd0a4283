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
  /** Called before a command that writes the stay's lease. */
  renewing(): void;
  /** Redis now has the stay's field, with a lease that was requested at `sentAt`. */
  named(sentAt: Instant): void;
  loseAll(reason: LossReason): void;
}

/** The only hold of a stay in a chain. */
export interface Holder {
  readonly stay: StayOfChain;
  readonly state: HoldState;
  readonly loss: LeaseLostError | undefined;
  readonly terms: Terms;
}

/**
 * A lock that passes from call to call of one client without being free in between. One record describes what Redis has of all stays of the
 * chain; it belongs to the latest stay.
 * @see docs/internals/states.md#hand-over
 */
export class Chain {
  /** How many holders have followed the first. */
  followers = 0;
  /** When the first holder handed the lock over, on the monotonic clock. */
  readonly sinceMs: number;
  /** The hold that has the lock now. */
  latest: Holder;
  /** Whether the latest holder has left, so that its release frees the fields of all holders. */
  isOver = false;

  constructor(first: Holder, sinceMs: number) {
    this.latest = first;
    this.sinceMs = sinceMs;
  }

  /** Called when the next holder has the lock, and the holder before it has left. Their stays swap their records. */
  pass(next: Holder): void {
    invariant(!this.isOver, "a lock is handed over while it is being freed");
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

  /** Called when the latest holder leaves. @returns the fields that its release must free, of which Redis has one */
  leave(): readonly string[] {
    const { stay } = this.latest;
    this.isOver = true;
    stay.inRedis.endTurn();
    return stay.inRedis.names(stay.field);
  }
}
