import type { ScriptName } from "../all-scripts.js";

const NEXT_WAITER =
  "The lock is freed, or the place in the queue is given up. But the lock is not given to the next waiter: the waiters ask again every 1.5 s.";
const SAVING =
  "A call that fails neither takes nor gives back a permit. It loses the permits that were saved up for it; if `SET` is refused, saving up may begin again at once.";
const PERMIT_QUEUE =
  "Waiting calls of a client may be missing in the queue, or may get no message when they should ask: they ask again after `safetyPeriodMs`.";

/** What the calls leave that are carried out in part, in the words of the page. Each key that they leave has a TTL. */
export const inPart: Readonly<Partial<Record<ScriptName, string>>> = {
  "lock-acquire":
    "If a call for several locks is refused, the locks before the refused one are already taken. The client then sends one command for each lock. If a call fails, the client gives back the lock that the call may have taken. A waiting call may or may not get the lock, and has no place in the queue. The queue expires ten minutes after a client last asked.",
  "lock-release":
    "The lock is freed, but not given to the next waiting client; or a client without waiters stays in the queue, and later releases skip it. Waiters ask again when the TTL that they saw has passed, or after `safetyPeriodMs`.",
  "lock-keep":
    "The field of the kept lock is written, but the holder's field is not removed. Both fields end with the kept lock.",
  "fair-acquire":
    "The lock is not taken; or it stays taken until its TTL is over, and the caller keeps its place in the queue. A place without a waiter is dropped a few seconds after it has become the first. Other waiters may be given a free lock, and dead waiters may be dropped.",
  "fair-release": NEXT_WAITER,
  "fair-refresh":
    "The signs of life are written. A free lock may not be handed over, and lost scores may not be repaired.",
  "fair-force-unlock": NEXT_WAITER,
  "read-acquire": "The key of the hold is written, and expires by its TTL. The lock is not taken.",
  "read-release":
    "The hold has ended, because its key is deleted first. Its field in the lock may remain until the TTL of the lock is over. The client retries.",
  "write-acquire":
    "The lock is taken. The mark of the waiting writer is not removed, and keeps readers away until its TTL of 4 s is over.",
  "write-release":
    "The caller keeps its read lock, and the field of its write lock remains as long as the lock. The client retries.",
  "semaphore-acquire": `${SAVING} ${PERMIT_QUEUE}`,
  "semaphore-add": PERMIT_QUEUE,
  "semaphore-cancel": SAVING,
  "permit-acquire": `${SAVING} Permits whose lease is over are available again. ${PERMIT_QUEUE}`,
  "permit-leave": PERMIT_QUEUE,
  "permit-cancel": SAVING,
  "permit-release":
    "Permits whose lease is over are available again. The permits that the call names may or may not be given back. " +
    PERMIT_QUEUE,
  "permit-look": "Permits whose lease is over are available again.",
  "permit-set-lease": "Permits whose lease is over are available again; no lease is changed.",
  "presence-tell":
    "The report of the client is written, but its group does not list the client. Both keys expire by their TTLs.",
  "presence-leave": "The group no longer lists the client. The report of the client expires by its TTL.",
};
