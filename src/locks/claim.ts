import { LeaseLostError, NotHeldError, ReentryError, UpgradeNotSupportedError } from "../errors.js";
import { FIRST_OWN_THREAD_ID } from "../options.js";
import type { Scope } from "../threads/scope.js";
import type { Hold, Stay } from "../threads/stay.js";
import { Thread } from "../threads/thread.js";
import { type LockIdentity, lockId } from "./lock-kind.js";
import type { Wish } from "./wish.js";

/** The thread that a call acts as, and the holds that let it enter. */
export interface Claim {
  /** The owner of the lock that the call acquires. */
  readonly thread: Thread<Stay>;
  /** The hold that the call re-enters: it belongs to a scope around the call. Undefined if the call begins a stay or names its thread. */
  readonly outer: Hold | undefined;
  /** The caller's write hold, if the call acquires the read lock beside it; undefined for all other calls. */
  readonly kin: Hold | undefined;
  readonly scope: Scope | undefined;
}

/**
 * Decides which thread a call acts as, and which hold it re-enters. A call may re-enter only a hold of a scope around it. Any other hold
 * excludes the call, even one of the same thread; otherwise two concurrent bodies of one thread could both be in the lock. See
 * docs/decisions/003-the-path-decides-re-entry.md.
 * @throws NotHeldError for the threadId of a released or lost lease; ReentryError, UpgradeNotSupportedError where the call would wait for
 * ever; LeaseLostError if the hold to re-enter is over
 * @param replaced a lost hold that a red lock acquires again
 * @see docs/internals/states.md#one-acquisition
 */
export function claimOf(
  lock: LockIdentity,
  threadId: number | undefined,
  stranger: () => Thread<Stay>,
  replaced?: Hold,
): Claim {
  const claim = threadId === undefined ? claimOnPath(lock, stranger, replaced) : claimById(lock, threadId);
  const { outer, kin } = claim;
  if (outer !== undefined) {
    if (!lock.kind.reentrant) assertNotOver(lock, outer);
    assertReentrant(lock);
  }
  if (kin !== undefined) assertNotOver(lock, kin);
  return claim;
}

function claimOnPath(lock: LockIdentity, stranger: () => Thread<Stay>, replaced: Hold | undefined): Claim {
  const scope = lock.client.threads.current;
  const onPath = (id: string) => (lock.reentry === "scope" ? scope?.holdOf(id, replaced) : undefined);
  const outer = onPath(lock.id);
  const other = otherHalf(lock, onPath);
  if (outer !== undefined) return { thread: outer.stay.thread, outer, kin: undefined, scope };
  refuseUpgrade(lock, other);
  // The joint lock around this call is still acquiring this member: if this call began a second stay, the call and that acquisition would
  // wait for each other.
  if (lock.reentry === "scope" && (scope?.awaits(lock.id) || scope?.awaits(lock.otherId ?? lock.id))) {
    throw new LeaseLostError(lock.name, lock.client.id, "unreachable", 0);
  }
  // If the scope's thread has a stay in the lock that belongs to no scope around the call, this stay excludes the call: the call gets
  // another thread.
  const thread =
    scope === undefined || scope.thread.stayIn(lock.id) !== undefined ? stranger() : scope.thread;
  return { thread, outer, kin: other, scope };
}

function claimById(lock: LockIdentity, threadId: number): Claim {
  const thread = threadOf(lock, threadId);
  const innermost = (id: string) => thread.stayIn(id)?.innermost;
  const own = innermost(lock.id);
  const other = otherHalf(lock, innermost);
  if (own === undefined) refuseUpgrade(lock, other);
  if (own !== undefined) assertReentrant(lock);
  return { thread, outer: undefined, kin: other, scope: undefined };
}

/** Refuses a second entry into a lock that is not reentrant. @throws ReentryError */
export function assertReentrant({ name, kind }: LockIdentity): void {
  if (!kind.reentrant) throw new ReentryError(name, "this kind of lock is not reentrant");
}

/** The caller's hold of the other lock of a read-write pair. */
function otherHalf(lock: LockIdentity, find: (id: string) => Hold | undefined): Hold | undefined {
  return lock.otherId === undefined ? undefined : find(lock.otherId);
}

function refuseUpgrade(lock: LockIdentity, other: Hold | undefined): void {
  if (lock.kind.half !== "write" || other === undefined) return;
  assertNotOver(lock, other);
  throw new UpgradeNotSupportedError(lock.name);
}

function threadOf(lock: LockIdentity, threadId: number): Thread<Stay> {
  const thread = lock.client.threads.find(threadId);
  if (thread !== undefined) return thread;
  if (threadId < FIRST_OWN_THREAD_ID) return new Thread(threadId);
  throw new NotHeldError(lock.name, `${threadId} is not the threadId of a live lease of this client`);
}

/**
 * False while a hold that belongs to no scope around the call excludes the call, for example the hold of a concurrent body. The call waits
 * until that hold ends.
 * @param outer the hold on the path that the call enters
 * @param others the live holds of the stay and of the stays beside it
 * @throws LeaseLostError when the hold to enter is over; ReentryError, UpgradeNotSupportedError where the call would wait for ever
 */
export function mayEnter(
  lock: LockIdentity,
  scope: Scope | undefined,
  outer: Hold | undefined,
  others: Iterable<Hold>,
): boolean {
  if (outer === undefined || scope === undefined) return true;
  assertNotOver(lock, outer);
  const sibling = [...others].find((hold) => !scope.covers(hold));
  if (sibling?.bare) {
    const why =
      "this thread holds it by a lease from lock() or tryLock() too: pass { threadId: lease.threadId }, or call from inside lease.run()";
    throw new ReentryError(lock.name, why);
  }
  // Two concurrent bodies that both read, and both want to write again, would wait for each other.
  if (sibling !== undefined && lock.kind.half === "write" && scope.holdOf(lockId("read", lock.key))) {
    throw new UpgradeNotSupportedError(lock.name);
  }
  return sibling === undefined;
}

function assertNotOver(lock: LockIdentity, hold: Hold): void {
  if (hold.state === "held") return;
  throw hold.loss ?? new LeaseLostError(lock.name, hold.stay.field, "released", hold.heldMs);
}

/** The `asThread` scope to which the hold of a call without a body will belong; undefined if it will belong to none. */
export function scopeOf(lock: LockIdentity, { form }: Wish, claim: Claim): Scope | undefined {
  const { current } = lock.client.threads;
  if (form !== "lock" || current === undefined || !current.isThread) return undefined;
  return claim.outer !== undefined || claim.thread === current.thread ? current : undefined;
}
