import type { Keeper } from "../lease.js";
import type { Hold } from "../threads/holding.js";
import type { Lock } from "./lock.js";
import type { LockIdentity } from "./lock-kind.js";

/** A lock that is one key with a lease, as far as a lock has to know it that is made of several. */
export interface SingleLock extends Lock, Keeper {
  readonly identity: LockIdentity;
  /** The hold that an unlock in Redisson's style means. */
  toUnlock(threadId: number | undefined): Hold | undefined;
  /** A bare lease that was taken in `asThread` need not be kept by the caller. */
  keep(hold: Hold, lease: object): void;
}
