import type { Instant } from "../runtime/instant.js";
import type { HoldOrigin } from "../threads/hold.js";
import type { Hold, Stay } from "../threads/stay.js";
import type { LockIdentity } from "./lock-kind.js";
import type { Wish } from "./wish.js";

const NONE: readonly Stay[] = [];

/** What was given. */
type GivenHold = Pick<HoldOrigin, "takenAt" | "until" | "token" | "unnamed">;

/**
 * Records a hold that the stay was given, by Redis or by a hand-over.
 * @param at this moment, if the caller has just looked
 * @returns undefined when its lease is over already
 * @see docs/internals/states.md#one-acquisition
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
 * As {@link enter}, by the answer `held` to the acquisition itself: the lock was free for it then, so that leases of this client that say
 * otherwise are lost. A hand-off and a grant do not prove that: Redis was not asked, or the message is about an older stay. Neither does an
 * answer that came after its own lease had ended: another call may have taken the lock since. One has it for certain if it was sent later,
 * and its answer `held` was heard earlier.
 * @returns undefined when its lease is over already, or another one has got the lock since
 */
export function enterByAnswer(
  lock: LockIdentity,
  stay: Stay,
  wish: Wish,
  given: Pick<GivenHold, "takenAt" | "token">,
): Hold | undefined {
  // A read beside its own write hold does not displace that.
  const isFirst = stay.live.length === 0 && wish.kin === undefined;
  const others = isFirst ? lock.client.threads.excludedBy(stay, lock.otherId) : NONE;
  const isLater = ({ takenAt, provisional }: Hold) =>
    !provisional && takenAt.monotonicMs > given.takenAt.monotonicMs;
  if (others.some(({ live }) => live.some(isLater))) return undefined;
  const hold = enter(stay, wish, given);
  if (hold !== undefined) for (const other of others) other.loseAll("stolen");
  return hold;
}
