import type { Instant } from "../runtime/instant.js";
import type { HoldOrigin } from "../threads/hold.js";
import type { Hold, Stay } from "../threads/stay.js";
import type { LockIdentity } from "./lock-kind.js";
import type { Wish } from "./wish.js";

const NONE: readonly Stay[] = [];

/** What an answer, a grant or a hand-over says about the hold. */
type GivenHold = Pick<HoldOrigin, "takenAt" | "until" | "token" | "unnamed">;

/**
 * Records a hold that the stay got from Redis or from another call of this client.
 * @param at the current time, if the caller has just read it
 * @returns undefined if its lease is already over
 */
export function enter(stay: Stay, wish: Wish, given: GivenHold, at?: Instant): Hold | undefined {
  const { takenIn, form, terms } = wish;
  const scope = takenIn?.ended ? undefined : takenIn;
  const { takenAt, until, token, unnamed } = given;
  const bare = form === "lock" && scope === undefined;
  const hold = stay.add(terms, { takenAt, until, token, unnamed, bare }, at);
  if (hold === undefined) return undefined;
  stay.inRedis.entered();
  scope?.take(hold);
  return hold;
}

/**
 * Like {@link enter}, but for the answer `held` to the acquisition itself. The answer proves that the lock was free for this call, so other
 * leases of this client on the lock are lost. A hand-over does not prove this, because Redis is not asked. A grant does not prove it
 * either, because its message may be about an older stay. If the answer comes after the lease has ended, another call may have taken the
 * lock since. This is certain if that call sent its acquisition later, and the answer `held` to it has already been read.
 * @returns undefined if its lease is already over, or another call has got the lock since
 */
export function enterByAnswer(
  lock: LockIdentity,
  stay: Stay,
  wish: Wish,
  given: Pick<GivenHold, "takenAt" | "token">,
): Hold | undefined {
  // A call that acquires the read lock beside its own write hold does not make the write hold lost.
  const isFirst = stay.live.length === 0 && wish.kin === undefined;
  const others = isFirst ? lock.client.threads.excludedBy(stay, lock.otherId) : NONE;
  const isLater = ({ takenAt, provisional }: Hold) =>
    !provisional && takenAt.monotonicMs > given.takenAt.monotonicMs;
  if (others.some(({ live }) => live.some(isLater))) return undefined;
  const hold = enter(stay, wish, given);
  if (hold !== undefined) for (const other of others) other.loseAll("stolen");
  return hold;
}
