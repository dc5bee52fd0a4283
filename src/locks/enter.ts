import type { Instant } from "../runtime/instant.js";
import type { Hold, Place } from "../threads/hold.js";
import type { Holding } from "../threads/holding.js";
import type { Wish } from "./wish.js";

/** What was given. */
type Given = Pick<Place, "takenAt" | "until" | "token" | "unnamed">;

/**
 * Redis has given the hold.
 * @param at this moment, if the caller has just looked
 * @returns undefined when its lease is over already
 */
export function enter(holding: Holding, wish: Wish, given: Given, at?: Instant): Hold | undefined {
  const { takenIn, form, terms } = wish;
  const scope = takenIn?.ended ? undefined : takenIn;
  const { takenAt, until, token, unnamed } = given;
  const bare = form === "lock" && scope === undefined;
  const hold = holding.add(terms, { takenAt, until, token, unnamed, bare }, at);
  if (hold === undefined) return undefined;
  holding.inRedis.count += 1;
  scope?.take(hold);
  return hold;
}
