import { UnavailableError } from "../errors.js";
import { fairTimes } from "../protocol/fair-scripts.js";
import { later, now } from "../runtime/instant.js";
import type { Hold } from "../threads/hold.js";
import type { Holding } from "../threads/holding.js";
import { marginMs } from "../threads/terms.js";
import { enter } from "./enter.js";
import type { LockIdentity } from "./lock-kind.js";
import { sendRelease } from "./lowering.js";
import type { QueuePlace, Wish } from "./wish.js";

/** A hold that goes on gets its own lease after this part of the time it was given for. */
const CONFIRMED_AFTER = 1 / 3;
const RETRY_MS = 200;

/**
 * Enters a lock that somebody else has given to this waiter, until a time on the server's clock. That clock is known from
 * the last answer that the waiter was still in the queue: the hold can not have been given before it was asked for.
 * @returns undefined when the message may be about an older stay or may have come too late
 */
export function enterByGrant(
  lock: LockIdentity,
  holding: Holding,
  wish: Wish,
  untilServerMs: number,
  place: QueuePlace | undefined,
): Hold | undefined {
  const { client } = lock;
  // One who wants replicas to have its hold asks for that.
  if (!client.commands.dialect.grants) return undefined;
  // Under an id that the caller chose, an old message may be about an earlier stay.
  if (place === undefined || holding.thread.explicitId !== undefined) return undefined;
  if (client.commands.resets !== place.resets) return undefined;
  // Given before Redis last said that it was not: it has been taken back since.
  if (untilServerMs - fairTimes.grantMs < place.serverMs) return undefined;
  const spanMs = untilServerMs - place.serverMs;
  const until = later(place.sentAt, spanMs - marginMs(spanMs, wish.terms));
  const takenAt = now(client.clock);
  const hold = enter(holding, wish, { takenAt, until }, takenAt);
  if (hold === undefined) return undefined;
  const delayMs = wish.terms.leaseMs < fairTimes.grantMs ? 0 : fairTimes.grantMs * CONFIRMED_AFTER;
  client.after(delayMs, () => client.inBackground(() => confirm(lock, holding, hold)));
  return hold;
}

/** Writes the lease of a hold that was given. A hold that is gone is not made again. */
async function confirm(lock: LockIdentity, holding: Holding, hold: Hold): Promise<void> {
  const { commands } = lock.client;
  while (hold.state === "held" && hold.provisional) {
    try {
      await holding.inRedis.inTurn(async () => {
        if (hold.state !== "held" || !hold.provisional) return;
        const { reply, sentAt } = await sendRelease(lock, holding);
        if (reply.status === "released") hold.confirmed(sentAt);
        else holding.loseAll("stolen");
      });
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      await commands.pause(RETRY_MS);
    }
  }
}
