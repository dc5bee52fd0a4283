import type { ScriptName } from "../all-scripts.js";

const NEXT_WAITER =
  "The lock is freed or given up all the same. What is not done is the hand-over: the waiters ask by themselves, every 1.5 s.";
const SAVING =
  "No permit is granted or given back but with the answer. What was saved up for the call is given up, and without `SET` it may save up again at once.";
const PERMIT_QUEUE =
  "A line that waits for permits may have no place in their queue, or not be told its turn: it asks by itself, at the safety period.";

/** What the calls leave that are carried out in part, in the words of the page. Each key that they leave has a TTL. */
export const inPart: Readonly<Partial<Record<ScriptName, string>>> = {
  "lock-acquire":
    "Of a call for several locks those before the one that is refused are taken. The client sends each of them again, alone, and gives back what a call that fails may have taken. A call that waits takes the lock, or does not, without a place in its queue; what stays there ends ten minutes after the latest question of anybody.",
  "lock-release":
    "The lock is freed, but not given to the next client that waits; or a client stays in the queue, where later releases pass it over. Waiters ask by themselves, when the TTL that they saw has passed or at the safety period.",
  "lock-keep":
    "The field that stays is written, and the holder's is there still: both end when the kept lock does.",
  "fair-acquire":
    "The lock is not taken, or it is taken until its TTL and the place in the queue stays. A place that stays without a waiter is dropped within seconds of its turn. Other waiters may be given a free lock, dead ones may be dropped.",
  "fair-release": NEXT_WAITER,
  "fair-refresh":
    "The signs of life are written. What is not done is the hand-over of a free lock, or the tidying of lost scores.",
  "fair-force-unlock": NEXT_WAITER,
  "read-acquire": "The key of the hold is written and ends by its TTL. The lock is not taken.",
  "read-release":
    "The hold has ended, as its key is deleted first; a field that stays in the lock ends with the lock, by the TTL that it had. The client tries on.",
  "write-acquire": "The lock is taken. The mark of the wait keeps readers away until its TTL of 4 s.",
  "write-release":
    "The lock is left to the reader, and the writer's field ends with it. The client tries on.",
  "semaphore-acquire": `${SAVING} ${PERMIT_QUEUE}`,
  "semaphore-add": PERMIT_QUEUE,
  "semaphore-cancel": SAVING,
  "permit-acquire": `${SAVING} Permits whose lease is over are available again. ${PERMIT_QUEUE}`,
  "permit-leave": PERMIT_QUEUE,
  "permit-cancel": SAVING,
  "permit-release":
    "Permits whose lease is over are available again; those that the call names are not given back, or they are. " +
    PERMIT_QUEUE,
  "permit-look": "Permits whose lease is over are available again.",
  "permit-set-lease": "Permits whose lease is over are available again; no lease is changed.",
  "presence-tell":
    "What the client tells is written, but its group is not told of it. Both end by their TTLs.",
  "presence-leave": "The client is no longer among those of its group; what it has told ends by its TTL.",
};
