import { forCaller } from "../runtime/for-caller.js";
import type { Hold, Stay } from "../threads/stay.js";
import { Thread } from "../threads/thread.js";
import { type Claim, claimOf, mayEnter, scopeOf } from "./claim.js";
import type { LockIdentity } from "./lock-kind.js";
import { unanswered } from "./refusal.js";
import type { Wish } from "./wish.js";

/** The identity under which a call acquires. */
export interface Caller {
  /** Chosen by the program, or of a live lease; undefined: decided by the path that the call lies on. */
  readonly threadId: number | undefined;
  /** The thread of a call that is on no path. Default: a new one. */
  readonly stranger?: () => Thread<Stay>;
  /** Gets what the call fails with, before its caller does. */
  readonly failed?: (error: unknown) => void;
}

/** Makes the call's result of its hold; undefined when it could not acquire the lock in the time that its wish allows. */
export type HoldResult<T> = (hold: Hold | undefined, wish: Wish) => T | Promise<T>;

/**
 * The stay that a call has to do with first. `begin`: a new one. The other three exist already and belong to its thread, and the call waits
 * for its turn in them: `again`, to enter once more; `beside`, a write stay, to read beside it; `settle`, of a chosen id, which is just
 * ending in the other lock of the pair.
 */
export interface Entrance {
  readonly by: "begin" | "again" | "beside" | "settle";
  readonly stay: Stay;
  /** False while another body excludes the call. @throws the error of a claim that can no longer be met */
  readonly mayEnter: () => boolean;
  readonly claim: Claim | undefined;
}

/**
 * Decides which stay a call enters, and begins one where that is its first.
 * @throws the reason of a cancelled wait; what `claimOf` throws
 */
export function entranceOf(lock: LockIdentity, wish: Wish, caller: Caller): Entrance {
  if (wish.waiter.cancelled) throw wish.waiter.reason;
  const { threadId, stranger = newThread } = caller;
  // Outside of any scope a call is on no path.
  if (threadId === undefined && lock.client.threads.current === undefined) {
    const thread = caller.stranger === undefined ? new Thread<Stay>() : stranger();
    return { by: "begin", stay: lock.client.threads.begin(thread, lock), mayEnter: always, claim: undefined };
  }
  const claim = claimOf(lock, threadId, stranger, wish.replaced);
  const { outer, kin, thread, scope } = claim;
  wish.takenIn = threadId === undefined ? scopeOf(lock, wish, claim) : undefined;
  wish.kin = kin;
  const present = outer?.stay ?? thread.stayIn(lock.id);
  if (present !== undefined) {
    return {
      by: "again",
      stay: present,
      mayEnter: () => mayEnter(lock, scope, outer, present.company()),
      claim,
    };
  }
  const other = threadId === undefined ? undefined : unsettledHalf(lock, claim);
  // Takes no turn: two calls that both took one would find each other under way, and wait for ever.
  if (other !== undefined) return { by: "settle", stay: other, mayEnter: always, claim };
  if (kin !== undefined) {
    const host = kin.stay;
    return { by: "beside", stay: host, mayEnter: () => mayEnter(lock, scope, kin, host.live), claim };
  }
  return { by: "begin", stay: lock.client.threads.begin(thread, lock), mayEnter: always, claim };
}

/** Begins to read beside a write lock. @returns undefined where the write lock is over, or its thread has begun to read since */
export function beginBeside(lock: LockIdentity, claim: Claim | undefined): Stay | undefined {
  if (claim?.kin?.state !== "held" || claim.thread.stayIn(lock.id) !== undefined) return undefined;
  return lock.client.threads.begin(claim.thread, lock, claim.kin.stay);
}

/**
 * Asks whether it is a call's turn in a stay of its thread: nothing is under way there, and no holder excludes it. To be asked again each
 * time that its waiter wakes.
 * @returns `taken`: the call has to end the turn by `settled`, unless it came to `settle`; `none`: it may not wait any longer
 * @throws what `mayEnter` throws
 */
export function turnIn(
  { stay, by, mayEnter }: Entrance,
  { waiter, waits }: Wish,
): "taken" | "later" | "none" {
  let isTurn = false;
  let isLater = false;
  try {
    // A waiter may have been cancelled since it was woken.
    isTurn = !waiter.cancelled && stay.isTurnOf(waiter, mayEnter);
    // Beyond its time it waits for a command of the stay only, and not for a body, which tells that the lock is taken.
    isLater = !isTurn && !waiter.over && (waiter.isInOvertime ? mayEnter() : waits);
  } finally {
    if (isTurn && by !== "settle") stay.unsettled(true);
    if (!isLater) stay.leaveEntryLine(waiter);
  }
  if (isLater) stay.watchCompany();
  if (isTurn) return "taken";
  return isLater ? "later" : "none";
}

/**
 * Notes in the wish why the call has not got its turn in a stay. That the lock is taken is known where the hold of another body excludes the
 * call, and while one is being released: any other command of the stay that is under way tells nothing yet.
 * @throws UnavailableError where the outcome of the last stay is unknown
 */
export function noteNoTurn(lock: LockIdentity, wish: Wish, { stay, mayEnter }: Entrance): void {
  const { field, innermost, inRedis, releases } = stay;
  if (innermost === undefined && releases === 0 && inRedis.copiesUntilMs > 0) {
    wish.unanswered = unanswered(lock);
    // One of several servers may be asked again soon.
    if (wish.timeoutMs === undefined) throw wish.unanswered;
  }
  // A live hold of its own thread has the lock; of one of several servers the call does not wait for the command that is under way.
  const leftMs = innermost?.checkMs() ?? -1;
  const isHeldHere = leftMs > 0 && wish.timeoutMs !== undefined;
  if (releases > 0 || isHeldHere || !mayEnter()) wish.waiter.told();
  wish.saw(lock, field, leftMs);
}

/** The stay in which the chosen thread is just acquiring or releasing the other lock of the pair. */
function unsettledHalf(lock: LockIdentity, { thread }: Claim): Stay | undefined {
  const other = lock.otherId === undefined ? undefined : thread.stayIn(lock.otherId);
  return other === undefined || other.live.length > 0 || other.isIdle ? undefined : other;
}

function newThread(): Thread<Stay> {
  return new Thread();
}

function always(): boolean {
  return true;
}

/** What an acquisition has come to. @param failed gets what it throws */
export function outcomeOr<T>(failed: (error: unknown) => void, acquisition: { outcome(): T }): T {
  try {
    return acquisition.outcome();
  } catch (error) {
    failed(error);
    throw error;
  }
}

/** The result of a call whose claim could not be met. */
export function neverBegun(
  lock: LockIdentity,
  { waiter, isPart }: Wish,
  { failed }: Caller,
  error: unknown,
): Promise<never> {
  if (!isPart) lock.client.dismiss(waiter);
  const told = forCaller(error, lock, waiter);
  failed?.(told);
  return Promise.reject(told);
}
