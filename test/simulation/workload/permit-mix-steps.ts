import { between, oneIn, pick } from "../draw.js";
import type { Caller } from "./caller.js";
import { waitOptions } from "./count-calls.js";
import type { Shared } from "./family.js";
import { type PermitVisit, releaseIds, updateLease } from "./permit-ids.js";
import { giveBack, take, visitOf, wishFor } from "./permit-steps.js";

/** Gives permits back, often while one of them is given back by its id, or is to run out soon. */
export async function lostAmidRelease(caller: Caller, shared: Shared): Promise<void> {
  const { stream } = caller;
  const visit = await visitOf(caller, shared.name);
  for (let left = between(stream, 2, 5); left > 0; left -= 1) {
    await caller.pause(pick(stream, [0, 1, 20]));
    const permits = Math.min(pick(stream, [2, 1, 3]), Math.max(visit.watch.size, 1));
    const leaseMs = pick(stream, [undefined, 60, undefined, 150, 400]);
    const options = { ...waitOptions(caller, 3), ...(leaseMs === undefined ? {} : { leaseMs }) };
    const wish = wishFor(shared.name, "acquire", permits, options);
    const taken = await take(visit, "acquire", wish);
    if (taken === undefined) continue;
    await caller.pause(pick(stream, [0, 5, 50, 140]));
    const [first = ""] = taken.ids;
    const losing = oneIn(stream, 2) ? loseOne(visit, first, pick(stream, [0, 5, 100, 300])) : undefined;
    await giveBack(visit, taken, { ...wish, asked: { ...wish.asked, leaseMs: 1 } });
    await losing;
  }
}

/** Somebody else has a hand in it. */
async function loseOne(visit: PermitVisit, id: string, afterMs: number): Promise<void> {
  const { caller } = visit;
  await caller.pause(afterMs);
  if (oneIn(caller.stream, 2)) await releaseIds(visit, [id]);
  else await updateLease(visit, [id]);
}
