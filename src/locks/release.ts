import { ServerReplyError } from "../driver/driver.js";
import { NotHeldError, UnavailableError } from "../errors.js";
import { events } from "../events.js";
import { FIRST_OWN_THREAD_ID } from "../options.js";
import type { Release, ReleaseAnswer } from "../protocol/lock-calls.js";
import type { Exchanged } from "../runtime/commands.js";
import type { Request } from "../runtime/groups.js";
import type { Patience } from "../runtime/patience.js";
import type { Hold } from "../threads/hold.js";
import type { Holding } from "../threads/holding.js";
import type { LockIdentity } from "./lock-kind.js";

/** A late answer tells the server's time, so that the next deadline should do. */
export const MOST_VAIN_TRIES = 5;
/** How long clean-up leaves a server alone that does not answer: twice as long each time. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
/** For how long replicas that are late are told of a release. */
const TELLING_MS = 60_000;

/**
 * Releases one hold. Twice is harmless.
 * @throws NotHeldError, UnavailableError, ClientClosedError
 */
export async function release(lock: LockIdentity, hold: Hold): Promise<void> {
  if (hold.state === "lost") {
    hold.dismissed = true;
    giveUpField(lock, hold.holding);
    throw lateRelease(hold);
  }
  hold.releasing ??= releaseHeld(lock, hold);
  return hold.releasing;
}

async function releaseHeld(lock: LockIdentity, hold: Hold): Promise<void> {
  const { holding, heldMs } = hold;
  holding.unsettled();
  holding.releases += 1;
  hold.release();
  let clean = false;
  try {
    const replicated = await holding.inTurn(() => lowerCount(lock, hold));
    clean = holding.inRedis.copiesUntilMs === 0;
    if (clean && !replicated) tellReplicas(lock, holding);
    if (events.release.hasSubscribers) {
      events.release.publish({ name: lock.name, kind: lock.kind.name, holder: holding.field, heldMs });
    }
  } catch (error) {
    clean = error instanceof NotHeldError;
    throw error;
  } finally {
    holding.releases -= 1;
    if (!clean) cleanUp(lock, holding);
    holding.settled();
  }
}

/** The field of a lost lease may outlive the trust in it; then others need not wait for its TTL. */
function giveUpField(lock: LockIdentity, holding: Holding): void {
  if (!holding.isIdle || holding.inRedis.count === 0) return;
  holding.inRedis.count = 0;
  cleanUp(lock, holding);
}

/** @returns false when too few replicas have it */
async function lowerCount(lock: LockIdentity, hold: Hold): Promise<boolean> {
  const { holding } = hold;
  const keptCount = holding.keepLive();
  if (holding.inRedis.count <= keptCount) return true;
  // Whatever becomes of the command, this is the count to be reached.
  holding.inRedis.count = keptCount;
  const { reply, repeated, sentAt, shortfall } = await sendRelease(lock, holding);
  if (reply.status === "released") {
    if (keptCount > 0 && shortfall === undefined) holding.renewed(sentAt);
    return shortfall === undefined;
  }
  // Gone after a repeat: the copy that was not answered has done it.
  if (reply.status === "absent" && repeated && keptCount === 0) return shortfall === undefined;
  holding.loseAll("stolen");
  holding.inRedis.count = 0;
  hold.wasStolen();
  hold.dismissed = true;
  throw lateRelease(hold, reply);
}

interface Sending {
  /** The hold count that Redis may have at most. */
  readonly heldCount?: number;
  readonly patience?: Patience;
  /** Whether the lock will be asked for again in the same stay. Default: false. */
  readonly goesOn?: boolean;
}

/** Sends the release of what is above the count to be had until it is answered in time. With nothing above, it writes the TTL. */
export async function sendRelease(
  lock: LockIdentity,
  holding: Holding,
  sending: Sending = {},
): Promise<Exchanged<ReleaseAnswer>> {
  const { commands, groups } = lock.client;
  const { inRedis } = holding;
  const request = new Lowering(lock, holding, sending);
  let repeated = false;
  for (let tries = 1; ; tries += 1) {
    try {
      const sent = await groups.ask(lock.kind.release, request);
      const { reply, shortfall } = sent;
      repeated ||= sent.repeated;
      if (repeated) inRedis.copyMayArrive(request.notAfterMs);
      inRedis.seenServer(sent.serverMs);
      const isKnown = reply.status === "released" && shortfall === undefined;
      if (isKnown && inRedis.copiesUntilMs === 0) inRedis.highestCount = request.keptCount;
      if (reply.status !== "late") return sent.repeated === repeated ? sent : { ...sent, repeated };
      if (tries >= MOST_VAIN_TRIES)
        throw new UnavailableError(commands.server, "its answers come too late", false);
    } catch (error) {
      if (error instanceof UnavailableError && error.outcomeUnknown)
        inRedis.copyMayArrive(request.notAfterMs);
      throw error;
    }
  }
}

/** The lowering of a hold count on its way to Redis. */
class Lowering implements Request<Release> {
  readonly keptCount: number;
  readonly limited: boolean;
  readonly patience: Patience;
  /** The deadline of the latest sending; 0 without. */
  notAfterMs = 0;
  readonly #lock: LockIdentity;
  readonly #holding: Holding;
  readonly #heldCount: number;

  constructor(lock: LockIdentity, holding: Holding, { heldCount, patience = {}, goesOn = false }: Sending) {
    const { count, highestCount } = holding.inRedis;
    this.#lock = lock;
    this.#holding = holding;
    this.#heldCount = heldCount ?? highestCount;
    this.keptCount = count;
    this.patience = patience;
    // A late copy that deletes a field whose number will not be used again can do no harm, any other must not arrive.
    this.limited = goesOn || count > 0 || holding.threadId < FIRST_OWN_THREAD_ID;
  }

  get key(): string {
    return this.#holding.key;
  }

  item(notAfterMs: number): Release {
    this.notAfterMs = notAfterMs;
    const holding = this.#holding;
    const { key, field: holder } = holding;
    const { keptCount } = this;
    const ttlMs = holding.neededMs();
    const keptMs = holding.keptMs(keptCount);
    const { channel } = this.#lock;
    return { key, holder, heldCount: this.#heldCount, keptCount, ttlMs, keptMs, channel };
  }
}

/**
 * Brings Redis to the count that the holding is to have, again and again until no copy of an older command can arrive
 * any more. Goes on behind the scenes; the stay is not over before, so that nothing new is done under its field.
 */
export function cleanUp(lock: LockIdentity, holding: Holding, after: Pick<Sending, "goesOn"> = {}): void {
  holding.unsettled();
  lock.client.inBackground(() => reachStoredCount(lock, holding, after).finally(() => holding.settled()));
}

/** A call has ended without a hold: a copy of its acquisition may arrive yet, and take the lock for nobody. */
export function undoCopies(lock: LockIdentity, holding: Holding): void {
  if (holding.inRedis.count === 0 && holding.inRedis.copiesUntilMs > 0) cleanUp(lock, holding);
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
  inRedis.count = 0;
  try {
    await holding.inTurn(() => sendRelease(lock, holding, { heldCount: highestLeft(holding), patience }));
  } catch (error) {
    // It was refused: what there is stays.
    if (inRedis.copiesUntilMs === 0) inRedis.count = count;
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
    const sending = { heldCount: highestLeft(holding), goesOn, patience: { replicated: false } };
    await holding.inTurn(() => sendRelease(lock, holding, sending));
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
function tellReplicas(lock: LockIdentity, holding: Holding): void {
  // The next stay under an id that the caller chose has the same field.
  if (holding.thread.explicitId !== undefined) return;
  const { client } = lock;
  const { clock, commands } = client;
  const endMs = Math.min(endOfCleanUp(lock, holding), clock.monotonicMs() + TELLING_MS);
  client.inBackground(async () => {
    for (let pauseMs = FIRST_PAUSE_MS; !client.isClosing && clock.monotonicMs() < endMs; ) {
      try {
        const sent = await holding.inTurn(async () => {
          const goesOn = holding.live.length > 0 || holding.inRedis.count > 0;
          return goesOn ? undefined : sendRelease(lock, holding, { heldCount: highestLeft(holding) });
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

/** By then even what was taken last has ended by itself. On the monotonic clock. */
function endOfCleanUp({ client: { clock, commands } }: LockIdentity, { inRedis }: Holding): number {
  return clock.monotonicMs() + inRedis.longestLeaseMs + 2 * commands.timeoutMs;
}

/** What is not wanted any more may have been counted. */
function highestLeft({ inRedis }: Holding): number {
  return Math.max(inRedis.highestCount, inRedis.count + 1);
}

/** As {@link cleanUp}, for somebody who waits for it. Never rejects. */
export async function reachStoredCount(
  lock: LockIdentity,
  holding: Holding,
  after: Pick<Sending, "goesOn"> = {},
): Promise<void> {
  const { client } = lock;
  const { clock, commands } = client;
  const endMs = endOfCleanUp(lock, holding);
  let pauseMs = FIRST_PAUSE_MS;
  while (!client.stopped && clock.monotonicMs() < endMs) {
    let waitMs = pauseMs;
    try {
      const { serverMs, shortfall } = await holding.inTurn(() => {
        // Nobody relies on what a stay that was lost has left. What is being released is left to the release.
        if (holding.live.length === 0 && holding.releases === 0) holding.inRedis.count = 0;
        return sendRelease(lock, holding, { heldCount: highestLeft(holding), ...after });
      });
      const { copiesUntilMs } = holding.inRedis;
      if (copiesUntilMs === 0) {
        // What is about to be asked for again in the same stay tells them.
        if (shortfall !== undefined && !after.goesOn) tellReplicas(lock, holding);
        return;
      }
      waitMs = copiesUntilMs - serverMs + 1;
    } catch (error) {
      if (!mayHelp(error, holding)) return;
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
    await commands.pause(waitMs).catch(() => undefined);
  }
}

/** Whether to send a release again that has failed. */
function mayHelp(error: unknown, { inRedis }: Holding): boolean {
  if (!(error instanceof UnavailableError)) return false;
  // A server that refuses, or answers too late, may do better while copies arrive; a connection that has ended does not.
  const answered = error.cause === undefined || error.cause instanceof ServerReplyError;
  return error.outcomeUnknown || (answered && inRedis.copiesUntilMs > 0);
}

function lateRelease(hold: Hold, answer?: ReleaseAnswer): NotHeldError {
  const { lock } = hold.holding;
  const { loss } = hold;
  const found = answer === undefined ? "" : ` (Redis: ${answer.status})`;
  const why = `${loss?.message ?? "the lease is over"}${found}; somebody else may hold it`;
  return new NotHeldError(lock.name, why, { cause: loss });
}
