import { UnavailableError } from "../errors.js";
import { fairTimes } from "../protocol/fair-scripts.js";
import type { Release } from "../protocol/lock-calls.js";
import { isOver } from "../runtime/command-failures.js";
import type { Patience } from "../runtime/patience.js";
import type { Holding } from "../threads/holding.js";
import type { LockIdentity } from "./lock-kind.js";
import { type Sending, sendRelease } from "./lowering.js";

/** The pause before a server that does not answer is asked again: twice as long each time. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
/** For how long a release is repeated for replicas that do not acknowledge it. */
const TELLING_MS = 60_000;

/**
 * Sends releases in the background until Redis has the count that the stay's record says, and no copy of an older command can arrive. The
 * stay is not over before that, so that the next one under a chosen id does not begin under the same field.
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
 * The call has ended without a hold, but a copy of its acquisition may still take the lock in Redis: releases it in the background.
 * @param isRecorded whether the field may stand in the queue of a fair lock
 */
export function undoCopies(lock: LockIdentity, holding: Holding, isRecorded?: boolean): void {
  const { inRedis } = holding;
  if (isRecorded) inRedis.queued();
  // A command of the stay is under way: its answer leads here again.
  else if (inRedis.isChanging) return;
  if (inRedis.count === 0 && inRedis.isDoubtful) cleanUp(lock, holding);
}

/**
 * Releases what a lost stay under a chosen id has left in Redis, before the next stay begins under the same field. While copies of its
 * commands may arrive, the stay is not over, and `cleanUp` goes on.
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
    // The release was refused or never sent: Redis has what it had.
    if (inRedis.copiesUntilMs === 0) inRedis.keeps(count);
    throw error;
  } finally {
    if (inRedis.copiesUntilMs > 0) cleanUp(lock, holding);
    holding.settled();
  }
}

/**
 * Releases what an acquisition took with too few replicas: by one command that the call waits for, and by `cleanUp` if that fails. Never
 * rejects.
 */
export async function takeBack(lock: LockIdentity, holding: Holding): Promise<void> {
  const goesOn = true;
  holding.unsettled();
  try {
    const sending = { goesOn, patience: { replicated: false } };
    await holding.inRedis.inTurn(() => sendRelease(lock, holding, sending));
    // A replica may have the acquisition without having acknowledged it, and restores the lock if it is promoted.
    if (holding.inRedis.copiesUntilMs === 0) tellReplicas(lock, holding);
    else cleanUp(lock, holding, { goesOn });
  } catch {
    cleanUp(lock, holding, { goesOn });
  } finally {
    holding.settled();
  }
}

/**
 * Repeats a release in the background until enough replicas acknowledge it, so that a promoted replica does not restore the hold. The
 * master has applied it, and so the stay may end meanwhile. A stay that goes on tells the replicas by its next command.
 */
export function tellReplicas(lock: LockIdentity, holding: Holding): void {
  // The next stay under a chosen id has the same field: a repeated release would free it.
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
 * When Redis can have nothing of the stay any more, on the monotonic clock: its longest lease is over, and its place in a fair queue as
 * well. Redis drops a waiter that has been silent for `aliveMs`, and a grant of the last moment ends within another `aliveMs`.
 */
function endOfCleanUp({ client: { clock, commands }, kind }: LockIdentity, { inRedis }: Holding): number {
  const aliveMs = kind.recordsWaiters ? fairTimes.aliveMs : 0;
  return clock.monotonicMs() + inRedis.longestLeaseMs + 2 * (aliveMs + commands.timeoutMs);
}

/** The loop of {@link cleanUp}. Never rejects. */
async function reachStoredCount(
  lock: LockIdentity,
  holding: Holding,
  after: Pick<Sending, "goesOn"> = {},
): Promise<void> {
  const { client } = lock;
  const { clock, commands } = client;
  const endMs = endOfCleanUp(lock, holding);
  const livesOn = () => holding.live.length > 0;
  // A stay that goes on: a copy that arrives later could release its next hold.
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
        // Without a live hold, all that Redis has is released. A release that is under way lowers the count itself; the next round looks
        // again.
        if (holding.live.length === 0 && holding.releases === 0) holding.inRedis.lowers(0);
        return sendRelease(lock, holding, after);
      });
      const { copiesUntilMs } = holding.inRedis;
      if (copiesUntilMs > 0) {
        // A release without a deadline is answered without the server's time. With it, the pause ends when the copies are too late.
        if (serverClock !== undefined) waitMs = copiesUntilMs - serverMs + 1;
      } else if (holding.live.length > 0 || holding.inRedis.count === 0) {
        // If the stay is about to ask for the lock again, that command tells the replicas.
        if (shortfall !== undefined && !after.goesOn) tellReplicas(lock, holding);
        return;
      }
    } catch (error) {
      // A server that refuses, or cannot be reached, may answer later. The loop has an end, as a call may wait for it.
      if (!(error instanceof UnavailableError) || isOver(error)) return;
      if (clock.monotonicMs() >= endMs && !livesOn()) return;
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
    await commands.pause(waitMs).catch(() => undefined);
  }
}

/**
 * The releases that free a lock from each of these holders: one of them may have it.
 * @param heldCount how often it has the lock, at most
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
 * Releases every field of a chain in the background, as Redis may have one of them, and repeats that until it is answered.
 * @param leaseMs the longest lease of the chain: after it nothing is left to release
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
