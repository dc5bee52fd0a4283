import { forCaller } from "../runtime/for-caller.js";
import type { Hold, Stay } from "../threads/stay.js";
import { Thread } from "../threads/thread.js";
import { type Claim, claimOf, mayEnter, scopeOf } from "./claim.js";
import type { LockIdentity } from "./lock-kind.js";
import { unanswered } from "./refusal.js";
import type { Wish } from "./wish.js";

/** The identity under which a call acquires. */
export interface Caller {
  /** Chosen by the program, or taken from a live lease; if undefined, the scopes around the call decide. */
  readonly threadId: number | undefined;
  /** Makes the thread of a call that gets none from the scopes around it. Default: a new thread. */
  readonly stranger?: () => Thread<Stay>;
  /** Gets the error of a failed call, before the caller does. */
  readonly failed?: (error: unknown) => void;
}

/** Turns the hold into the call's result; undefined means that the lock was not acquired in time. */
export type HoldResult<T> = (hold: Hold | undefined, wish: Wish) => T | Promise<T>;

/**
 * The stay that a call enters first. With `begin`, it is a new stay. In all other cases, the stay already exists and belongs to the call's
 * thread, and the call waits for its turn in this stay. `again`: the call re-enters the stay. `beside`: the call acquires the read lock
 * beside the write hold of this stay. `settle`: the stay is in the other lock of a read-write pair, under the id that the caller chose; the
 * call waits until the stay has ended.
 */
export interface Entrance {
  readonly by: "begin" | "again" | "beside" | "settle";
  readonly stay: Stay;
  /** False while another body excludes the call. @throws the error of a call that can no longer enter */
  readonly mayEnter: () => boolean;
  readonly claim: Claim | undefined;
}

/**
 * Decides which stay a call enters first; begins a new stay if there is no existing one.
 * @throws the reason of a cancelled wait; the errors of `claimOf`
 */
export function entranceOf(lock: LockIdentity, wish: Wish, caller: Caller): Entrance {
  if (wish.waiter.cancelled) throw wish.waiter.reason;
  const { threadId, stranger = newThread } = caller;
  // A call outside all scopes has no path to search.
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
  // The call takes no turn in that stay: if two calls each took a turn in the other call's stay, both would wait for ever.
  if (other !== undefined) return { by: "settle", stay: other, mayEnter: always, claim };
  if (kin !== undefined) {
    const host = kin.stay;
    return { by: "beside", stay: host, mayEnter: () => mayEnter(lock, scope, kin, host.live), claim };
  }
  return { by: "begin", stay: lock.client.threads.begin(thread, lock), mayEnter: always, claim };
}

/** Begins to read beside a write hold. @returns undefined if the write hold is over, or its thread has begun to read meanwhile */
export function beginBeside(lock: LockIdentity, claim: Claim | undefined): Stay | undefined {
  if (claim?.kin?.state !== "held" || claim.thread.stayIn(lock.id) !== undefined) return undefined;
  return lock.client.threads.begin(claim.thread, lock, claim.kin.stay);
}

/**
 * Checks whether it is a call's turn in a stay of its thread: no command is under way there, and no holder excludes the call. Checked again
 * each time the waiter wakes.
 * @returns `taken`: it is the call's turn, and the call must end it by `settled`, unless it enters by `settle`; `none`: the call may not
 * wait any longer
 * @throws the errors of `mayEnter`
 */
export function turnIn(
  { stay, by, mayEnter }: Entrance,
  { waiter, waits }: Wish,
): "taken" | "later" | "none" {
  let isTurn = false;
  let isLater = false;
  try {
    // The waiter may have been cancelled after it was woken.
    isTurn = !waiter.cancelled && stay.isTurnOf(waiter, mayEnter);
    // After its `waitMs` the call waits only for a command of the stay, to learn whether the lock is taken. A running body already proves
    // that the lock is taken, so the call does not wait for the end of a body.
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
 * Records in the wish why the call has not got its turn in a stay. The lock is known to be taken if the hold of another body excludes
 * the call, or while a hold is being released. Another command under way does not prove that the lock is taken.
 * @throws UnavailableError if the outcome of the last stay is unknown
 */
export function noteNoTurn(lock: LockIdentity, wish: Wish, { stay, mayEnter }: Entrance): void {
  const { field, innermost, inRedis, releases } = stay;
  if (innermost === undefined && releases === 0 && inRedis.copiesUntilMs > 0) {
    wish.unanswered = unanswered(lock);
    // A member of a red lock does not throw: the red lock may ask this server again soon.
    if (wish.timeoutMs === undefined) throw wish.unanswered;
  }
  // A member of a red lock does not wait for the command under way. A live hold of the same thread is enough to tell it that the lock is
  // taken.
  const leftMs = innermost?.checkMs() ?? -1;
  const isHeldHere = leftMs > 0 && wish.timeoutMs !== undefined;
  if (releases > 0 || isHeldHere || !mayEnter()) wish.waiter.told();
  wish.saw(lock, field, leftMs);
}

/** While the chosen thread is acquiring or releasing the other lock of the pair: its stay in that lock. */
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

/** The outcome of an acquisition. @param failed gets the error before it is thrown */
export function outcomeOr<T>(failed: (error: unknown) => void, acquisition: { outcome(): T }): T {
  try {
    return acquisition.outcome();
  } catch (error) {
    failed(error);
    throw error;
  }
}

/** The result of a call that could not begin. */
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
