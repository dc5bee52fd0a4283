import { NotHeldError } from "../errors.js";
import { events } from "../events.js";
import type { Release, ReleaseAnswer } from "../protocol/lock-calls.js";
import { stillOpen } from "../runtime/command-failures.js";
import type { Exchanged } from "../runtime/exchanged.js";
import { alsoForCaller, forCaller } from "../runtime/for-caller.js";
import type { Hold } from "../threads/stay.js";
import { marginMs } from "../threads/terms.js";
import { handOver } from "./hand-off.js";
import type { LockIdentity } from "./lock-kind.js";
import { callFirst, Lowering, lastRelease, releasesOf, sendingsOf, sendRelease } from "./lowering.js";
import { freed, freeing, notFreed } from "./own-release.js";
import { confirm, reconcile } from "./reconciler.js";

/**
 * Releases one hold. A second call is harmless.
 * @param keepForMs how long the key of a stay's last hold remains; 0: the lock is freed
 * @throws NotHeldError, UnavailableError, ClientClosedError
 * @see docs/internals/states.md#one-release
 */
export function release(lock: LockIdentity, hold: Hold, keepForMs = 0): Promise<void> {
  if (hold.state === "lost") {
    hold.dismissed = true;
    const { stay } = hold;
    // Redis may keep the field of a lost lease until its TTL ends. Removes the field now, so that waiters need not wait so long.
    if (stay.live.length === 0 && stay.inRedis.count > 0) reconcile(lock, stay);
    return Promise.reject(lateRelease(hold));
  }
  if (hold.releasing !== undefined) return alsoForCaller(hold.releasing, lock);
  hold.releasing = releaseHeld(lock, hold, keepForMs);
  return hold.releasing;
}

/** Releases a hold that no caller has received, even if it is already lost. */
export async function giveBack(lock: LockIdentity, hold: Hold): Promise<void> {
  if (hold.state === "held") return release(lock, hold);
  hold.dismissed = true;
  hold.stay.inRedis.lowers(hold.stay.keepLive());
  reconcile(lock, hold.stay);
}

/** Most releases end a stay and find no other command under way: they need one command and few promises. Some need no command. */
function releaseHeld(lock: LockIdentity, hold: Hold, keepForMs: number): Promise<void> {
  const { stay } = hold;
  const { inRedis } = stay;
  const told = events.release.hasSubscribers
    ? { heldMs: hold.heldMs, holdCount: stay.live.length }
    : undefined;
  const isLast = stay.isAlone(hold);
  const next = isLast && keepForMs === 0 ? handOver(lock, hold) : undefined;
  if (next !== undefined) {
    confirm(lock, next.stay);
    hold.release();
    tell({ lock, hold, told });
    return Promise.resolve();
  }
  const names = isLast && !inRedis.isNamed ? stay.chain?.leave() : undefined;
  if (keepForMs > 0) {
    inRedis.keepsFor(keepForMs);
    hold.keptUntilMs = lock.client.clock.monotonicMs() + keepForMs - marginMs(keepForMs, hold.terms);
  }
  stay.unsettled();
  stay.releases += 1;
  hold.release();
  const ending = { lock, hold, told };
  const { lowerings } = inRedis;
  if (names !== undefined) {
    inRedis.lowers(0);
    return ended(ending, () => inRedis.inTurn(() => freeAll(lock, hold, names)));
  }
  // A command of the stay is under way: this release waits, and lowers the count that the command leaves.
  if (inRedis.isChanging) return ended(ending, () => inRedis.inTurn(() => lowerCount(lock, hold, lowerings)));
  return lowerAtOnce(ending, isLast ? 0 : stay.keepLive());
}

/** A release under way. */
interface ReleaseUnderWay {
  readonly lock: LockIdentity;
  readonly hold: Hold;
  /** The event's values; undefined if it had no subscriber when the release began. */
  readonly told: { readonly heldMs: number; readonly holdCount: number } | undefined;
}

/** Lowers the count. No other command of the stay is under way. */
function lowerAtOnce(ending: ReleaseUnderWay, keptCount: number): Promise<void> {
  const { lock, hold } = ending;
  const { stay } = hold;
  const { inRedis } = stay;
  // This hold was already released together with another one: no command is needed.
  if (inRedis.count <= keptCount) return ended(ending, () => Promise.resolve(true));
  inRedis.lowers(keptCount);
  inRedis.beginTurn();
  return new Lowering(lock, stay).send().then(
    (sent) => {
      const { reply, shortfall, sentAt } = sent;
      if (reply.status === "late") return ended(ending, () => lowerAgain(lock, hold, keptCount, sent));
      inRedis.endTurn();
      const isSettled = inRedis.copiesUntilMs === 0 && inRedis.reconciler === undefined;
      const isDone = reply.status === "released" && shortfall === undefined && isSettled;
      if (!isDone) return ended(ending, async () => lowered(lock, hold, keptCount, sent));
      if (keptCount > 0) stay.renewed(sentAt);
      tell(ending);
      stay.releases -= 1;
      return stay.settled();
    },
    (error: unknown) => {
      inRedis.endTurn();
      return ended(ending, () => Promise.reject(error));
    },
  );
}

/** Sends a release again after the answer `late`. Keeps the turn: otherwise the next release would also lower the count for this hold. */
async function lowerAgain(
  lock: LockIdentity,
  hold: Hold,
  keptCount: number,
  late: Exchanged<ReleaseAnswer>,
): Promise<boolean> {
  const { stay } = hold;
  try {
    return lowered(lock, hold, keptCount, await sendRelease(lock, stay, {}, late));
  } finally {
    stay.inRedis.endTurn();
  }
}

/** @param work resolves to false when too few replicas have the release */
async function ended(ending: ReleaseUnderWay, work: () => Promise<boolean>): Promise<void> {
  const { lock, hold } = ending;
  const { stay } = hold;
  let isFinal = true;
  let isReplicated = true;
  let failure: unknown;
  try {
    isReplicated = await work();
    tell(ending);
  } catch (error) {
    isFinal = error instanceof NotHeldError;
    failure = stillOpen(error);
    // If the hold was already gone, its loss was published instead of a failed release.
    if (!isFinal) tell(ending, { error: failure });
  }
  stay.releases -= 1;
  // `reconcile` runs even if the hold was already gone: a late copy of its acquisition could take the lock again, without a hold.
  const { copiesUntilMs, reconciler } = stay.inRedis;
  if (!isFinal || !isReplicated || copiesUntilMs > 0 || reconciler !== undefined) reconcile(lock, stay);
  stay.settled();
  if (failure === undefined) return;
  // The caller's promise settles after this one; without this `await`, V8 does not find the caller for the stack.
  await undefined;
  throw forCaller(failure, lock);
}

function tell({ hold, told }: ReleaseUnderWay, failed?: { readonly error: unknown }): void {
  if (!events.release.hasSubscribers) return;
  const { heldMs, holdCount } = told ?? hold;
  // Uses no spread: on Node 20 each property after a spread takes almost a microsecond.
  const { clientId, server, name, kind, holder } = hold.about;
  const event = { clientId, server, name, kind, holder, heldMs: Math.round(heldMs), holdCount };
  events.release.publish(failed === undefined ? event : { ...event, ...failed });
}

/**
 * @param lowerings how many lowerings the record counted when the release began
 * @returns false when too few replicas have the release
 */
async function lowerCount(lock: LockIdentity, hold: Hold, lowerings: number): Promise<boolean> {
  const { stay } = hold;
  const { inRedis } = stay;
  const keptCount = stay.keepLive();
  if (inRedis.count <= keptCount) return true;
  // If another release has lowered the count meanwhile, it did so for this hold too: the rest of the count belongs to expired holds.
  const isDone = inRedis.lowerings !== lowerings;
  inRedis.lowers(keptCount);
  if (keptCount === 0 && !inRedis.isNamed) return freeAll(lock, hold, stay.fields);
  const sent = await sendRelease(lock, stay);
  return lowered(lock, hold, keptCount, { ...sent, repeated: isDone || sent.repeated });
}

/** Reads the answer to a release. @returns false when too few replicas have it */
function lowered(
  lock: LockIdentity,
  hold: Hold,
  keptCount: number,
  { reply, repeated, sentAt, shortfall }: Exchanged<ReleaseAnswer>,
): boolean {
  const { stay } = hold;
  if (reply.status === "released") {
    if (keptCount > 0 && shortfall === undefined) stay.renewed(sentAt);
    return shortfall === undefined;
  }
  // If a repeat finds no field, the unanswered first copy has released the hold, and the remaining holds have expired since.
  const isOver = keptCount === 0 || stay.live.length === 0;
  // If an earlier copy had kept the key, the key would still be there. So the hold had ended before the release.
  const isKept = lock.client.clock.monotonicMs() < hold.keptUntilMs;
  if (reply.status === "absent" && repeated && isOver && !isKept) return shortfall === undefined;
  stay.wasGone(1);
  hold.wasGone();
  hold.dismissed = true;
  throw lateRelease(hold, reply);
}

/**
 * The lock was handed over, and Redis has not confirmed the latest holder's field yet. Redis has the field of this holder or of an earlier
 * one, so this releases the fields of all of them.
 */
async function freeAll(lock: LockIdentity, hold: Hold, names: readonly string[]): Promise<boolean> {
  const { key, client } = lock;
  const { inRedis } = hold.stay;
  const sendings = sendingsOf(client, releasesOf(lock, names, inRedis));
  let locks: readonly Release[] = [];
  const isKept = inRedis.keepForMs > 0;
  if (!isKept) freeing(lock);
  try {
    const script = lastRelease(lock, inRedis);
    const sent = await client.commands.exchange(script, key, () => {
      locks = sendings();
      return { notAfterMs: 0, locks };
    });
    const reply = sent.reply.find(({ status }) => status === "released") ??
      sent.reply[0] ?? { status: "absent" };
    if (reply.status !== "released") notFreed(lock);
    else if (isKept) {
      client.lines.of(lock.id)?.endsIn(inRedis.keepForMs);
      if (reply.sooner || sent.repeated) callFirst(lock);
    } else freed(lock, reply, locks[0]?.looks);
    inRedis.namesFreed(sent.shortfall !== undefined);
    return lowered(lock, hold, 0, { ...sent, reply });
  } catch (error) {
    notFreed(lock);
    throw error;
  }
}

function lateRelease(hold: Hold, answer?: ReleaseAnswer): NotHeldError {
  const { lock } = hold.stay;
  const { loss, terms } = hold;
  const found = answer === undefined ? "" : ` (Redis: ${answer.status})`;
  const isFixed = loss?.reason === "expired" && !terms.renewed;
  const ranOut = `its lease of ${terms.leaseMs} ms ran out before the work ended: without leaseMs it is renewed for as long as the work takes`;
  const why = isFixed ? ranOut : (loss?.message ?? "the lease is over");
  return new NotHeldError(lock.name, `${why}${found}; somebody else may hold it`, { cause: loss });
}
