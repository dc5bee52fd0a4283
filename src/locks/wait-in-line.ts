import { UnavailableError } from "../errors.js";
import type { WaitLine } from "../runtime/wait-lines.js";
import type { Hold } from "../threads/hold.js";
import type { Holding } from "../threads/holding.js";
import { ask, type Wish } from "./acquire.js";
import type { LockIdentity } from "./lock-kind.js";
import { cleanUp } from "./release.js";

/**
 * Takes the outermost hold of a stay, standing in line with the other callers of this client; the head of the line
 * sleeps until Redis tells of a release.
 * @returns undefined when the waiter's time was up
 * @throws the reason of a cancelled wait; UnavailableError, WrongTypeError
 */
export function waitInLine(lock: LockIdentity, holding: Holding, wish: Wish): Promise<Hold | undefined> {
  return standInLine(lock, holding, wish, (line) => {
    line.listen();
    return line.sleepMs();
  });
}

/**
 * As {@link waitInLine}, with another way for the head to wait.
 * @param sleepMs how long the head may sleep before it asks again unless it is woken
 */
export async function standInLine(
  lock: LockIdentity,
  holding: Holding,
  wish: Wish,
  sleepMs: (line: WaitLine) => number,
): Promise<Hold | undefined> {
  const { lines } = lock.client;
  const { waiter } = wish;
  const line = lines.join(lock, waiter);
  try {
    for (;;) {
      if (line.isHead(waiter) && line.shouldAsk()) {
        const hold = await askInLine(lock, holding, wish, line);
        if (hold !== undefined) return hold;
      } else if (line.isHead(waiter)) {
        await waiter.pause(sleepMs(line));
      } else {
        await waiter.pause();
      }
      if (waiter.over) return refuse(lock, wish, line);
    }
  } finally {
    lines.leave(line, waiter);
    if (lock.kind.recordsWaiters && holding.inRedis.count === 0) cleanUp(lock, holding);
  }
}

async function askInLine(
  lock: LockIdentity,
  holding: Holding,
  wish: Wish,
  line: WaitLine,
): Promise<Hold | undefined> {
  line.asking();
  try {
    const hold = await ask(lock, holding, wish);
    if (hold === undefined) {
      if (wish.obstacle !== undefined) line.seenHeld(wish.obstacle, lock.kind.asksEachMs);
    } else if (lock.kind.shared) {
      line.wake();
    } else {
      line.seenHeld({ holder: holding.field, ttlMs: wish.terms.leaseMs });
    }
    return hold;
  } catch (error) {
    // A server that fails one fails all. A wake-up that the call has used up otherwise is for the next in line.
    if (error instanceof UnavailableError && !wish.waiter.cancelled) line.fail(error);
    else line.wake();
    throw error;
  }
}

/** @throws the reason of a wait that was cancelled */
function refuse(lock: LockIdentity, wish: Wish, line: WaitLine): undefined {
  if (wish.waiter.cancelled) throw wish.waiter.reason;
  const { sighting } = line;
  if (sighting === undefined) return;
  wish.obstacle = { ...sighting, own: lock.client.owns(sighting.holder) };
}
