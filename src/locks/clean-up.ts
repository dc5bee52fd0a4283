import type { Patience } from "../runtime/patience.js";
import type { Stay } from "../threads/stay.js";
import type { LockIdentity } from "./lock-kind.js";
import { sendRelease } from "./lowering.js";
import { reconcile } from "./reconciler.js";

/**
 * Releases the lock in the background after a call has ended without a hold: a late copy of its acquisition may still take the lock in
 * Redis.
 * @param isRecorded whether the field may be in the queue of a fair lock
 */
export function undoCopies(lock: LockIdentity, stay: Stay, isRecorded?: boolean): void {
  const { inRedis } = stay;
  if (inRedis.count > 0) return;
  if (isRecorded) inRedis.queued();
  // A command of the stay is under way: this function is called again when the answer comes.
  else if (inRedis.isChanging) return;
  if (inRedis.isDoubtful) reconcile(lock, stay);
}

/**
 * Releases what a lost stay under a chosen id has left in Redis, before the next stay begins under the same field. While late copies of
 * the stay's commands may arrive, `reconcile` continues, and the stay does not end.
 * @throws UnavailableError
 */
export async function clearLeftover(lock: LockIdentity, stay: Stay, patience: Patience): Promise<void> {
  const { inRedis } = stay;
  if (!inRedis.isPossible) return;
  const { count } = inRedis;
  stay.unsettled();
  inRedis.lowers(0);
  try {
    await inRedis.inTurn(() => sendRelease(lock, stay, { patience }));
  } catch (error) {
    // The release was refused or never sent: the count in Redis is unchanged.
    if (inRedis.copiesUntilMs === 0) inRedis.keeps(count);
    throw error;
  } finally {
    if (inRedis.copiesUntilMs > 0) reconcile(lock, stay);
    stay.settled();
  }
}

/** Releases a lock that too few replicas have. The call waits for one command; if that fails, `reconcile` goes on. Never rejects. */
export async function takeBack(lock: LockIdentity, stay: Stay): Promise<void> {
  const { inRedis } = stay;
  let goesOn = true;
  stay.unsettled();
  try {
    await inRedis.inTurn(() => sendRelease(lock, stay, { goesOn, patience: { replicated: false } }));
    // A replica may have the acquisition without having acknowledged it. If that replica were promoted, the lock would be held again.
    goesOn = inRedis.copiesUntilMs > 0;
  } catch {
    // `reconcile` tries again.
  }
  reconcile(lock, stay, { goesOn });
  stay.settled();
}
