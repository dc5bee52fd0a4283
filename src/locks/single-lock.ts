import type { Keeper } from "../lease.js";
import type { Hold } from "../threads/stay.js";
import type { Lock } from "./lock.js";
import type { LockIdentity } from "./lock-kind.js";

/** A lock that is one key with a lease: what a joint lock uses of it. */
export interface SingleLock extends Lock, Keeper {
  readonly identity: LockIdentity;
  /** The hold that an unlock in Redisson's style means. */
  toUnlock(threadId: number | undefined): Hold | undefined;
  /** Keeps a bare lease that was taken in `asThread` until that ends, so that the caller need not keep it. */
  keep(hold: Hold, lease: object): void;
}
