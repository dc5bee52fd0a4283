import { NotHeldError } from "../errors.js";
import { events } from "../events.js";
import type { ReleaseAnswer } from "../protocol/lock-calls.js";
import type { Exchanged } from "../runtime/commands.js";
import type { Hold } from "../threads/hold.js";
import type { Holding } from "../threads/holding.js";
import { cleanUp, freeNames, releasesOf, tellReplicas } from "./clean-up.js";
import { freed, freeing, handOver, notFreed } from "./hand-off.js";
import type { LockIdentity } from "./lock-kind.js";
import { Lowering, sendRelease } from "./lowering.js";

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

/** Most releases end a stay, with nothing else under way: one command, and few promises. Some need no command at all. */
async function releaseHeld(lock: LockIdentity, hold: Hold): Promise<void> {
  const { holding, heldMs } = hold;
  const { inRedis, succession } = holding;
  const isLast = holding.isAlone(hold);
  if (isLast && handOver(lock, hold, freeNames)) {
    hold.release();
    tell(lock, holding, heldMs);
    return;
  }
  const names = isLast && !holding.isNamed ? succession?.leave() : undefined;
  holding.unsettled();
  holding.releases += 1;
  hold.release();
  if (!isLast) {
    await ended(
      lock,
      hold,
      heldMs,
      inRedis.inTurn(() => lowerCount(lock, hold)),
    );
    return;
  }
  inRedis.count = 0;
  if (names !== undefined) {
    await ended(
      lock,
      hold,
      heldMs,
      inRedis.inTurn(() => freeAll(lock, hold, names)),
    );
    return;
  }
  inRedis.beginTurn();
  const release = new Lowering(lock, holding).send();
  const isDone = await release.then(
    ({ reply, shortfall }) => reply.status === "released" && shortfall === undefined && !inRedis.isPossible,
    () => false,
  );
  inRedis.endTurn();
  if (!isDone) {
    await ended(
      lock,
      hold,
      heldMs,
      release.then((sent) => lowered(hold, 0, sent)),
    );
    return;
  }
  tell(lock, holding, heldMs);
  holding.releases -= 1;
  holding.settled();
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
  if (keptCount === 0 && !holding.isNamed) return freeAll(lock, hold, holding.fields);
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

/** Frees a lock of which nobody knows yet whom of those who followed each other Redis has. */
async function freeAll(lock: LockIdentity, hold: Hold, names: readonly string[]): Promise<boolean> {
  const { key, client, kind } = lock;
  const locks = releasesOf(lock, names);
  freeing(lock);
  try {
    const sent = await client.commands.exchange(kind.release, key, () => ({ notAfterMs: 0, locks }));
    const reply = sent.reply.find(({ status }) => status === "released") ??
      sent.reply[0] ?? { status: "absent" };
    if (reply.status === "released") freed(lock, reply.heard);
    else notFreed(lock);
    return lowered(hold, 0, { ...sent, reply });
  } catch (error) {
    notFreed(lock);
    if (!(error instanceof NotHeldError)) {
      freeNames(lock, names, hold.holding.succession?.leaseMs ?? hold.terms.leaseMs);
    }
    throw error;
  }
}

function lateRelease(hold: Hold, answer?: ReleaseAnswer): NotHeldError {
  const { lock } = hold.holding;
  const { loss } = hold;
  const found = answer === undefined ? "" : ` (Redis: ${answer.status})`;
  const why = `${loss?.message ?? "the lease is over"}${found}; somebody else may hold it`;
  return new NotHeldError(lock.name, why, { cause: loss });
}
