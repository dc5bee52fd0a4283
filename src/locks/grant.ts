import { fairTimes } from "../protocol/fair-scripts.js";
import { later, leftMs, now } from "../runtime/instant.js";
import type { Hold, Stay } from "../threads/stay.js";
import { marginMs } from "../threads/terms.js";
import { enter } from "./enter.js";
import type { LockIdentity } from "./lock-kind.js";
import { confirm } from "./reconciler.js";
import type { QueuePlace, Wish } from "./wish.js";

/** The hold's own lease is written to Redis after this share of the grant's time, or of the lease if that is shorter. */
const CONFIRMED_AFTER = 1 / 3;
/** A shorter lease is written at once: it could end before the timer wheel ticks, and Redis would keep the lock for the whole grant. */
const SHORT_LEASE_MS = 500;

/**
 * Enters a fair lock that another owner's script has granted to this waiter for `grantMs`. The waiter's field is queued only once in its
 * life. At `place.sentAt` it had no grant yet, because Redis answered `queued` to the command sent then. The grant came later, so it lasts
 * at least until `grantMs` after `place.sentAt`.
 * @returns undefined if the grant may be over, or if only Redis can tell whether it is valid
 * @see docs/internals/states.md#a-place-in-a-fair-queue
 */
export function enterByGrant(
  lock: LockIdentity,
  stay: Stay,
  wish: Wish,
  place: QueuePlace,
): Hold | undefined {
  const { client } = lock;
  // If replicas must acknowledge the hold, the waiter asks Redis: only its own command can be acknowledged.
  if (!client.commands.dialect.grants) return undefined;
  // The connection was lost after the answer `queued`: a server that took over may not have the grant.
  if (client.commands.resets !== place.resets) return undefined;
  // This client has freed the lock by force after the answer `queued`, and the grant may be older than the forced release.
  if (place.sentAt.monotonicMs < stay.inRedis.freedMs) return undefined;
  const { grantMs } = fairTimes;
  const until = later(place.sentAt, grantMs - marginMs(grantMs, wish.terms));
  const takenAt = now(client.clock);
  const hold = enter(stay, wish, { takenAt, until }, takenAt);
  if (hold === undefined) return undefined;
  const { leaseMs } = wish.terms;
  const delayMs = leaseMs < SHORT_LEASE_MS ? 0 : Math.min(leaseMs, leftMs(until, takenAt)) * CONFIRMED_AFTER;
  // If Redis no longer has the field, the hold is lost: the field is never written again.
  client.after(delayMs, () => {
    if (hold.state === "held" && hold.provisional) confirm(lock, stay);
  });
  return hold;
}
