import { LeaseLostError, NotHeldError, ReentryError, UpgradeNotSupportedError } from "../errors.js";
import { FIRST_OWN_THREAD_ID } from "../options.js";
import type { Scope } from "../threads/scope.js";
import type { Hold, Stay } from "../threads/stay.js";
import { Thread } from "../threads/thread.js";
import { type LockIdentity, lockId } from "./lock-kind.js";
import type { Wish } from "./wish.js";

/** The thread that a call acts as, and the holds on its path. */
export interface Claim {
  /** The owner of what it acquires. */
  readonly thread: Thread<Stay>;
  /** The hold on its path that it is to re-enter; undefined for a call that begins a stay, or that names its thread. */
  readonly outer: Hold | undefined;
  /** The write hold beside which it is to read; undefined for all but readers. */
  readonly kin: Hold | undefined;
  readonly scope: Scope | undefined;
}

/**
 * Decides which thread a call acts as, and which hold it re-enters: only a hold of a scope around it. Any other hold counts as a
 * stranger's, even one of the same thread: siblings that run at the same time could otherwise be in the lock together. See
 * docs/decisions/003-the-path-decides-re-entry.md.
 * @throws NotHeldError for the threadId of a lease that is over; ReentryError, UpgradeNotSupportedError where waiting would be for ever;
 * LeaseLostError when the hold to re-enter is over
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
  // The joint lock around this call is still acquiring this member: a second stay and that acquisition would wait for each other.
  if (lock.reentry === "scope" && (scope?.awaits(lock.id) || scope?.awaits(lock.otherId ?? lock.id))) {
    throw new LeaseLostError(lock.name, lock.client.id, "unreachable", 0);
  }
  // A stay that the scope's thread has in the lock, but not on this path, excludes the call, which gets another thread.
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

/** For a call that would enter the lock once more. @throws ReentryError */
export function assertReentrant({ name, kind }: LockIdentity): void {
  if (!kind.reentrant) throw new ReentryError(name, "this kind of lock is not reentrant");
}

/** The hold that the caller has of the other lock of the pair. */
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
 * False while a hold outside the caller's path excludes the call, for example that of a sibling's body: the call waits until it ends.
 * @param outer the hold on the path that is to be entered
 * @param others the live holds of the stay, and of those beside it
 * @throws LeaseLostError when the hold to enter is over; ReentryError, UpgradeNotSupportedError when waiting would be for ever
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
  // Two siblings that read and both want to write again would wait for each other.
  if (sibling !== undefined && lock.kind.half === "write" && scope.holdOf(lockId("read", lock.key))) {
    throw new UpgradeNotSupportedError(lock.name);
  }
  return sibling === undefined;
}

function assertNotOver(lock: LockIdentity, hold: Hold): void {
  if (hold.state === "held") return;
  throw hold.loss ?? new LeaseLostError(lock.name, hold.stay.field, "released", hold.heldMs);
}

/** The scope of `asThread` in which a bare hold of this call lies; none for a stranger's. */
export function scopeOf(lock: LockIdentity, { form }: Wish, claim: Claim): Scope | undefined {
  const { current } = lock.client.threads;
  if (form !== "lock" || current === undefined || !current.isThread) return undefined;
  return claim.outer !== undefined || claim.thread === current.thread ? current : undefined;
}
