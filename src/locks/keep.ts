import type { HeldKind } from "../threads/held.js";
import type { Hold } from "../threads/stay.js";
import { leaveQueue } from "./leave-queue.js";
import type { LockIdentity } from "./lock-kind.js";
import { release } from "./release.js";
import type { Wish } from "./wish.js";

/**
 * Releases a hold and keeps its key for `keepForMs`: until then no other owner gets the lock.
 * @throws TypeError if that is not possible: then nothing is released; also the errors of {@link release}
 * @see docs/internals/states.md#one-release
 */
export async function keep(lock: LockIdentity, hold: Hold, keepForMs: number): Promise<void> {
  const { name, kind } = lock;
  if (kind.keep === undefined) throw notKept(name, `a ${kind.name} can not be kept`);
  const { state, stay } = hold;
  // A hold that is lost or being released is not affected by the stay's other holds.
  if (state === "held" && stay.live.length > 1) throw notKept(name, "its thread has other holds of it");
  if (state === "held" && stay.entering > 0) {
    throw notKept(name, "another call of its thread is re-entering it");
  }
  try {
    await release(lock, hold, keepForMs);
  } finally {
    // `lock-keep` does not look into the queue. This client may still have a place there, from before a hand-over between its calls. If the
    // place stayed, a release of another client would grant this client the lock, and no call would take the lock.
    if (lock.queues) leaveQueue(lock);
  }
}

/** @param what the verb of the message: "released", or "taken" for a lock that the call has not taken */
export function notKept(name: string, why: string, what = "released"): TypeError {
  const lasts = "keepForMs is for the last hold of a plain, non-reentrant, spin or fenced lock";
  return new TypeError(`lock "${name}" was not ${what}: ${why}, and ${lasts}`);
}

/**
 * Checks `keepForMs` of a call that is about to take a lock.
 * @throws TypeError if the call cannot keep the key
 */
export function checkKept(
  keepForMs: number,
  form: Wish["form"],
  name: string,
  kind: Pick<HeldKind, "name"> & Partial<Pick<HeldKind, "keep">>,
): void {
  if (form === "using") {
    if (kind.keep === undefined) throw notKept(name, `a ${kind.name} can not be kept`, "taken");
    return;
  }
  const rather = `pass it to lease.unlock({ keepForMs: ${keepForMs} })`;
  throw new TypeError(
    `keepForMs is for using() and tryUsing(), which release lock "${name}" themselves: after lock() and tryLock() ${rather}`,
  );
}
