import type { Keeper } from "../lease.js";
import type { Hold } from "../threads/stay.js";
import type { Lock } from "./lock.js";
import type { LockIdentity } from "./lock-kind.js";

/** A lock that is one key with a lease, as a joint lock uses it. */
export interface SingleLock extends Lock, Keeper {
  readonly identity: LockIdentity;
  /** The hold that an unlock in Redisson's style refers to. */
  toUnlock(threadId: number | undefined): Hold | undefined;
  /** Keeps a reference to a lease from `lock` or `tryLock` inside `asThread` until that body ends, so that the caller need not keep one. */
  keep(hold: Hold, lease: object): void;
}
