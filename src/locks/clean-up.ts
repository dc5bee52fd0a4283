import { UnavailableError } from "../errors.js";
import { fairTimes } from "../protocol/fair-scripts.js";
import type { Release } from "../protocol/lock-calls.js";
import { isOver } from "../runtime/command-failures.js";
import type { Patience } from "../runtime/patience.js";
import type { Holding } from "../threads/holding.js";
import type { LockIdentity } from "./lock-kind.js";
import { type Sending, sendRelease } from "./lowering.js";

/** How long clean-up leaves a server alone that does not answer: twice as long each time. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
/** For how long replicas that are late are told of a release. */
const TELLING_MS = 60_000;

/**
 * Brings Redis to the count that the holding is to have, again and again until no copy of an older command can arrive
 * any more. Goes on behind the scenes; the stay is not over before, so that nothing new is done under its field.
 * @param ended called when that is done, or is given up
 * @see docs/internals/states.md#endings
 */
export function cleanUp(
  lock: LockIdentity,
  holding: Holding,
  after: Pick<Sending, "goesOn"> = {},
  ended?: () => void,
): void {
  holding.unsettled();
  lock.client.inBackground(() =>
    reachStoredCount(lock, holding, after).finally(() => {
      holding.settled();
      ended?.();
    }),
  );
}

/**
 * A call has ended without a hold: a copy of its acquisition may arrive yet, and take the lock for nobody.
 * @param isRecorded whether it may stand in a queue in Redis
 */
export function undoCopies(lock: LockIdentity, holding: Holding, isRecorded?: boolean): void {
  const { inRedis } = holding;
  if (isRecorded) inRedis.queued();
  // What becomes of a command that is under way is seen to when it is answered.
  else if (inRedis.isChanging) return;
  if (inRedis.count === 0 && inRedis.isDoubtful) cleanUp(lock, holding);
}

/**
 * Takes away what a stay that was lost has left in Redis, before the next one under the same id. While copies of commands
 * may arrive, the stay is not over.
 * @throws UnavailableError
 */
export async function clearLeftover(lock: LockIdentity, holding: Holding, patience: Patience): Promise<void> {
  const { inRedis } = holding;
  if (!inRedis.isPossible) return;
  const { count } = inRedis;
  holding.unsettled();
  inRedis.lowers(0);
  try {
    await inRedis.inTurn(() => sendRelease(lock, holding, { patience }));
  } catch (error) {
    // It was refused: what there is stays.
    if (inRedis.copiesUntilMs === 0) inRedis.keeps(count);
    throw error;
  } finally {
    if (inRedis.copiesUntilMs > 0) cleanUp(lock, holding);
    holding.settled();
  }
}

/**
 * Takes back what was given a moment ago and is of no use: at once where that can be had, behind the scenes otherwise. Never
 * rejects.
 */
export async function takeBack(lock: LockIdentity, holding: Holding): Promise<void> {
  const goesOn = true;
  holding.unsettled();
  try {
    const sending = { goesOn, patience: { replicated: false } };
    await holding.inRedis.inTurn(() => sendRelease(lock, holding, sending));
    // One may have it nevertheless.
    if (holding.inRedis.copiesUntilMs === 0) tellReplicas(lock, holding);
    else cleanUp(lock, holding, { goesOn });
  } catch {
    cleanUp(lock, holding, { goesOn });
  } finally {
    holding.settled();
  }
}

/**
 * Has replicas know of what was released, again and again, behind the scenes: one that takes over is not to bring it back. On
 * the server it is done, so that the stay is over meanwhile; one that goes on tells them by what it sends next.
 */
export function tellReplicas(lock: LockIdentity, holding: Holding): void {
  // The next stay under an id that the caller chose has the same field.
  if (holding.thread.explicitId !== undefined) return;
  const { client } = lock;
  const { clock, commands } = client;
  const endMs = Math.min(endOfCleanUp(lock, holding), clock.monotonicMs() + TELLING_MS);
  client.inBackground(async () => {
    for (let pauseMs = FIRST_PAUSE_MS; !client.isClosing && clock.monotonicMs() < endMs; ) {
      try {
        const sent = await holding.inRedis.inTurn(async () => {
          const goesOn = holding.live.length > 0 || holding.inRedis.count > 0;
          return goesOn ? undefined : sendRelease(lock, holding);
        });
        if (sent?.shortfall === undefined) return;
      } catch (error) {
        if (!(error instanceof UnavailableError)) return;
      }
      await commands.pause(pauseMs, true).catch(() => undefined);
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
  });
}

/**
 * By then even what was taken last has ended by itself, and so has a place in a queue: who is silent loses it, and what is given to him
 * before that ends sooner than he would lose another one. On the monotonic clock.
 */
function endOfCleanUp({ client: { clock, commands }, kind }: LockIdentity, { inRedis }: Holding): number {
  const aliveMs = kind.recordsWaiters ? fairTimes.aliveMs : 0;
  return clock.monotonicMs() + inRedis.longestLeaseMs + 2 * (aliveMs + commands.timeoutMs);
}

/** As {@link cleanUp}, for somebody who waits for it. Never rejects. */
async function reachStoredCount(
  lock: LockIdentity,
  holding: Holding,
  after: Pick<Sending, "goesOn"> = {},
): Promise<void> {
  const { client } = lock;
  const { clock, commands } = client;
  const endMs = endOfCleanUp(lock, holding);
  const livesOn = () => holding.live.length > 0;
  // A copy may take the next hold of a stay that goes on.
  const goesOn = () => holding.inRedis.copiesUntilMs > 0 && (after.goesOn || livesOn());
  let pauseMs = FIRST_PAUSE_MS;
  while (!client.stopped && (clock.monotonicMs() < endMs || goesOn())) {
    let waitMs = pauseMs;
    try {
      const {
        clock: serverClock,
        serverMs,
        shortfall,
      } = await holding.inRedis.inTurn(() => {
        // Nobody relies on what a stay that was lost has left. What is being released is left to the release, and looked at again.
        if (holding.live.length === 0 && holding.releases === 0) holding.inRedis.lowers(0);
        return sendRelease(lock, holding, after);
      });
      const { copiesUntilMs } = holding.inRedis;
      if (copiesUntilMs > 0) {
        // A release that was sent while no copies could come is not told the time, and somebody has to have told it.
        if (serverClock !== undefined) waitMs = copiesUntilMs - serverMs + 1;
      } else if (holding.live.length > 0 || holding.inRedis.count === 0) {
        // What is about to be asked for again in the same stay tells them.
        if (shortfall !== undefined && !after.goesOn) tellReplicas(lock, holding);
        return;
      }
    } catch (error) {
      // A server that refuses, or can not be reached, may do better later; a call that waits for it does not do so for ever.
      if (!(error instanceof UnavailableError) || isOver(error)) return;
      if (clock.monotonicMs() >= endMs && !livesOn()) return;
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
    await commands.pause(waitMs).catch(() => undefined);
  }
}

/**
 * What frees a lock from all of these holders, one of whom may have it.
 * @param heldCount how often at most
 */
export function releasesOf(
  { key, channel }: Pick<LockIdentity, "key" | "channel">,
  names: readonly string[],
  heldCount = 1,
): readonly Release[] {
  return names.map((holder) => {
    return { key, holder, heldCount, keptCount: 0, ttlMs: 1, keptMs: [], channel };
  });
}

/**
 * Releases every field of a chain in the background, of which Redis may have one, again and again until it is answered.
 * @param leaseMs by then it has ended by itself
 */
export function freeNames(lock: LockIdentity, names: readonly string[], leaseMs: number): void {
  const { client, kind, key } = lock;
  const { clock, commands } = client;
  const endMs = clock.monotonicMs() + leaseMs + 2 * commands.timeoutMs;
  const locks = releasesOf(lock, names);
  client.inBackground(async () => {
    for (let pauseMs = FIRST_PAUSE_MS; !client.stopped && clock.monotonicMs() < endMs; ) {
      try {
        await commands.exchange(kind.release, key, () => ({ notAfterMs: 0, locks }));
        return;
      } catch (error) {
        if (!(error instanceof UnavailableError)) return;
      }
      await commands.pause(pauseMs).catch(() => undefined);
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
  });
}
