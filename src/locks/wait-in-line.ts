import { standInLine } from "../runtime/stand-in-line.js";
import type { WaitLine } from "../runtime/wait-line.js";
import type { Waiter } from "../runtime/waiter.js";
import type { Hold } from "../threads/hold.js";
import type { Holding } from "../threads/holding.js";
import { ask } from "./acquire.js";
import { Heir } from "./hand-off.js";
import type { LockIdentity } from "./lock-kind.js";
import { release } from "./release.js";
import type { Wish } from "./wish.js";

/**
 * Takes the outermost hold of a stay, standing in line with the other callers of this client.
 * @param sleepMs how long the head may sleep before it asks again unless it is woken. Default: until it is told
 * @returns undefined when the waiter's time was up
 * @throws the reason of a cancelled wait; UnavailableError, WrongTypeError
 */
export async function waitInLine(
  lock: LockIdentity,
  holding: Holding,
  wish: Wish,
  sleepMs?: (line: WaitLine) => number,
): Promise<Hold | undefined> {
  const { waiter } = wish;
  const heir = lock.kind.handsOver ? new Heir(holding, wish) : undefined;
  waiter.heir = heir;
  try {
    const hold = await standInLine(lock.client.lines, {
      awaited: lock,
      waiter,
      served: () => heir?.hold,
      isAsking: () => wish.first !== undefined,
      ask: (line) => askInLine(lock, holding, wish, line),
      over: (line) => refuse(lock, wish, line),
      ...(sleepMs === undefined ? {} : { sleepMs }),
    });
    return hold !== undefined && hold === heir?.hold ? inherited(lock, hold, waiter) : hold;
  } finally {
    waiter.heir = undefined;
  }
}

/** A lock that was handed over, for its caller. @throws the reason of a wait that was cancelled: whoever left it did not know */
export function inherited(lock: LockIdentity, hold: Hold, waiter: Waiter): Hold {
  if (!waiter.cancelled) return hold;
  lock.client.inBackground(() => release(lock, hold));
  throw waiter.reason;
}

async function askInLine(
  lock: LockIdentity,
  holding: Holding,
  wish: Wish,
  line: WaitLine,
): Promise<Hold | undefined> {
  const hold = await ask(lock, holding, wish);
  if (hold === undefined) {
    if (wish.obstacle !== undefined) line.seenHeld(wish.obstacle, lock.kind.asksEachMs);
  } else if (lock.kind.shared) {
    line.wake();
  } else {
    line.seenHeld({ holder: holding.field, ttlMs: wish.terms.leaseMs });
  }
  return hold;
}

/** Who has waited in vain hears of whom. @throws the reason of a wait that was cancelled */
export function refuse(lock: LockIdentity, wish: Wish, line: WaitLine): void {
  if (wish.waiter.cancelled) throw wish.waiter.reason;
  const { sighting } = line;
  if (sighting === undefined) return;
  wish.obstacle = { ...sighting, own: lock.client.owns(sighting.holder) };
}
