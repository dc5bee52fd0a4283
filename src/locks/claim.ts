import { LeaseLostError, NotHeldError, ReentryError } from "../errors.js";
import { FIRST_OWN_THREAD_ID } from "../options.js";
import type { Hold } from "../threads/hold.js";
import type { Scope } from "../threads/scope.js";
import { Thread } from "../threads/thread.js";
import type { LockIdentity } from "./lock-kind.js";

/** Who a call is. */
export interface Claim {
  /** The owner of what it acquires. */
  readonly thread: Thread;
  /** The hold on its path that it is to re-enter; undefined for a call that begins a stay, or that names its thread. */
  readonly outer: Hold | undefined;
  readonly scope: Scope | undefined;
}

/**
 * Decides who a call is. Re-entry follows the path on which a flow awaits: a hold that one of the scopes around the call
 * lies in is entered once more; whatever is held elsewhere, be it by the same thread, is a stranger's.
 * @throws NotHeldError for the threadId of a lease that is over
 */
export function claimOf(lock: LockIdentity, threadId: number | undefined): Claim {
  const { threads } = lock.client;
  if (threadId !== undefined) return { thread: threadOf(lock, threadId), outer: undefined, scope: undefined };
  const scope = threads.current;
  const outer = lock.reentry === "scope" ? scope?.holdOf(lock.key) : undefined;
  if (outer !== undefined) return { thread: outer.holding.thread, outer, scope };
  // A thread that is in the lock, but not on this path, excludes the call like any other.
  const thread = scope === undefined || scope.thread.holdings.has(lock.key) ? new Thread() : scope.thread;
  return { thread, outer, scope };
}

function threadOf(lock: LockIdentity, threadId: number): Thread {
  const thread = lock.client.threads.find(threadId);
  if (thread !== undefined) return thread;
  if (threadId < FIRST_OWN_THREAD_ID) return new Thread(threadId);
  throw new NotHeldError(lock.name, `${threadId} is not the threadId of a live lease of this client`);
}

/**
 * True when nobody is in the lock but holders on the caller's path; false while a sibling's body is.
 * @throws LeaseLostError when the hold to re-enter is over; ReentryError when waiting would be for ever
 */
export function mayEnter(lock: LockIdentity, { outer, scope }: Claim): boolean {
  if (outer === undefined || scope === undefined) return true;
  if (outer.state !== "held") {
    throw outer.loss ?? new LeaseLostError(lock.name, outer.holding.field, "released", outer.heldMs);
  }
  const sibling = outer.holding.live.find((hold) => !scope.covers(hold));
  if (sibling?.bare) {
    const way = "pass its threadId, or call from inside its run()";
    throw new ReentryError(lock.name, `a lease that lock() or tryLock() returned is in between: ${way}`);
  }
  return sibling === undefined;
}
