import type { Hold, Place } from "../threads/hold.js";
import type { Holding } from "../threads/holding.js";
import type { Wish } from "./wish.js";

/** Redis has given the hold. @returns undefined when its lease is over already */
export function enter(
  holding: Holding,
  wish: Wish,
  given: Pick<Place, "takenAt" | "until" | "token" | "unnamed">,
): Hold | undefined {
  const scope = wish.takenIn?.ended ? undefined : wish.takenIn;
  const hold = holding.add(wish.terms, { ...given, bare: wish.form === "lock" && scope === undefined });
  if (hold === undefined) return undefined;
  holding.inRedis.count += 1;
  scope?.take(hold);
  return hold;
}
