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
export function release(lock: LockIdentity, hold: Hold): Promise<void> {
  if (hold.state === "lost") {
    hold.dismissed = true;
    giveUpField(lock, hold.holding);
    return Promise.reject(lateRelease(hold));
  }
  hold.releasing ??= releaseHeld(lock, hold);
  return hold.releasing;
}

/** Most releases end a stay, with nothing else under way: one command, and one promise. */
function releaseHeld(lock: LockIdentity, hold: Hold): Promise<void> {
  const { holding, heldMs } = hold;
  const isLast = holding.isAlone(hold);
  holding.unsettled();
  holding.releases += 1;
  hold.release();
  if (!isLast)
    return ended(
      lock,
      hold,
      heldMs,
      holding.inRedis.inTurn(() => lowerCount(lock, hold)),
    );
  holding.inRedis.count = 0;
  return new Promise((resolve) => {
    lock.client.groups.send(lock.kind.release, new LastRelease(lock, hold, heldMs, resolve));
  });
}

async function ended(
  lock: LockIdentity,
  hold: Hold,
  heldMs: number,
  release: Promise<boolean>,
): Promise<void> {
  const { holding } = hold;
  let clean = false;
  try {
    const replicated = await release;
    clean = holding.inRedis.copiesUntilMs === 0;
    if (clean && !replicated) tellReplicas(lock, holding);
    tell(lock, holding, heldMs);
  } catch (error) {
    clean = error instanceof NotHeldError;
    throw error;
  } finally {
    holding.releases -= 1;
    if (!clean) cleanUp(lock, holding);
    holding.settled();
  }
}

function tell({ name, kind }: LockIdentity, { field }: Holding, heldMs: number): void {
  if (!events.release.hasSubscribers) return;
  events.release.publish({ name, kind: kind.name, holder: field, heldMs });
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
  return lowered(hold, keptCount, await sendRelease(lock, holding));
}

/** What the answer to a release comes to. @returns false when too few replicas have it */
function lowered(
  hold: Hold,
  keptCount: number,
  { reply, repeated, sentAt, shortfall }: Exchanged<ReleaseAnswer>,
): boolean {
  const { holding } = hold;
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
  const { commands } = lock.client;
  let repeated = false;
  for (let tries = 1; ; tries += 1) {
    const sent = await new Asking(lock, holding, sending, repeated).send();
    ({ repeated } = sent);
    if (sent.reply.status !== "late") return sent;
    if (tries >= MOST_VAIN_TRIES)
      throw new UnavailableError(commands.server, "its answers come too late", false);
  }
}

/** The lowering of a hold count on its way to Redis. */
class Lowering implements Request<Release, ReleaseAnswer> {
  readonly limited: boolean;
  readonly patience: Patience;
  protected readonly lock: LockIdentity;
  protected readonly holding: Holding;
  readonly #heldCount: number;
  readonly #keptCount: number;
  #notAfterMs = 0;

  constructor(lock: LockIdentity, holding: Holding, { heldCount, patience, goesOn = false }: Sending) {
    const { count, highestCount } = holding.inRedis;
    this.lock = lock;
    this.holding = holding;
    this.#heldCount = heldCount ?? highestCount;
    this.#keptCount = count;
    this.patience = patience ?? PATIENT;
    // A late copy that deletes a field whose number will not be used again can do no harm, any other must not arrive.
    this.limited = goesOn || count > 0 || holding.threadId < FIRST_OWN_THREAD_ID;
  }

  get key(): string {
    return this.holding.key;
  }

  /** What keeps holds says by itself how many, and for how long. */
  isLike(other: Lowering): boolean {
    return this.#keptCount === 0 && other.#keptCount === 0;
  }

  item(notAfterMs: number): Release {
    this.#notAfterMs = notAfterMs;
    const { key, field: holder } = this.holding;
    const keptCount = this.#keptCount;
    const ttlMs = this.holding.neededMs();
    const keptMs = this.holding.keptMs(keptCount);
    const { channel } = this.lock;
    return { key, holder, heldCount: this.#heldCount, keptCount, ttlMs, keptMs, channel };
  }

  /** @param repeated whether any of the tries was */
  protected note(
    { status }: ReleaseAnswer,
    { serverMs, shortfall }: Exchanged<unknown>,
    repeated: boolean,
  ): void {
    const { inRedis } = this.holding;
    if (repeated) inRedis.copyMayArrive(this.#notAfterMs);
    inRedis.seenServer(serverMs);
    const isKnown = status === "released" && shortfall === undefined;
    if (isKnown && inRedis.copiesUntilMs === 0) inRedis.highestCount = this.#keptCount;
  }

  answered(answer: ReleaseAnswer, command: Exchanged<unknown>): void {
    this.note(answer, command, command.repeated);
  }

  failed(error: unknown): void {
    if (error instanceof UnavailableError && error.outcomeUnknown) {
      this.holding.inRedis.copyMayArrive(this.#notAfterMs);
    }
  }
}

const PATIENT: Patience = {};

/** One try, whose answer is waited for. */
class Asking extends Lowering {
  readonly #repeated: boolean;
  #resolve: ((sent: Exchanged<ReleaseAnswer>) => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;

  /** @param repeated whether an earlier try was */
  constructor(lock: LockIdentity, holding: Holding, sending: Sending, repeated: boolean) {
    super(lock, holding, sending);
    this.#repeated = repeated;
  }

  send(): Promise<Exchanged<ReleaseAnswer>> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.lock.client.groups.send(this.lock.kind.release, this);
    });
  }

  override answered(answer: ReleaseAnswer, command: Exchanged<unknown>): void {
    const repeated = this.#repeated || command.repeated;
    this.note(answer, command, repeated);
    this.#resolve?.({ ...command, reply: answer, repeated });
  }

  override failed(error: unknown): void {
    super.failed(error);
    this.#reject?.(error);
  }
}

/** The release of the only hold of a stay, under a number that will not be used again. */
class LastRelease extends Lowering {
  readonly #hold: Hold;
  readonly #heldMs: number;
  readonly #resolve: (ended: undefined | Promise<void>) => void;

  constructor(
    lock: LockIdentity,
    hold: Hold,
    heldMs: number,
    resolve: (ended: undefined | Promise<void>) => void,
  ) {
    super(lock, hold.holding, NOTHING_ELSE);
    this.#hold = hold;
    this.#heldMs = heldMs;
    this.#resolve = resolve;
    hold.holding.inRedis.beginTurn();
  }

  override answered(answer: ReleaseAnswer, command: Exchanged<unknown>): void {
    super.answered(answer, command);
    const { holding } = this;
    holding.inRedis.endTurn();
    if (answer.status !== "released" || command.shortfall !== undefined || holding.inRedis.isPossible) {
      this.#end(async () => lowered(this.#hold, 0, { ...command, reply: answer }));
      return;
    }
    tell(this.lock, holding, this.#heldMs);
    holding.releases -= 1;
    holding.settled();
    this.#resolve(undefined);
  }

  override failed(error: unknown): void {
    super.failed(error);
    this.holding.inRedis.endTurn();
    this.#end(() => Promise.reject(error));
  }

  #end(release: () => Promise<boolean>): void {
    this.#resolve(ended(this.lock, this.#hold, this.#heldMs, release()));
  }
}

const NOTHING_ELSE: Sending = {};

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
    await holding.inRedis.inTurn(() =>
      sendRelease(lock, holding, { heldCount: highestLeft(holding), patience }),
    );
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
function tellReplicas(lock: LockIdentity, holding: Holding): void {
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
      const { serverMs, shortfall } = await holding.inRedis.inTurn(() => {
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
