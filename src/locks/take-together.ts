import { UnavailableError } from "../errors.js";
import type { AcquireAnswer } from "../protocol/lock-calls.js";
import type { Exchanged } from "../runtime/commands.js";
import { ANSWERS_LATE, MOST_VAIN_TRIES } from "../runtime/late-answers.js";
import type { Waiter } from "../runtime/waiter.js";
import { Thread } from "../threads/thread.js";
import { notReplicated, refusal } from "./acquire.js";
import { type Part, Sending } from "./asking.js";
import { claimOf } from "./claim.js";
import { cleanUp, undoCopies } from "./clean-up.js";
import { enterByAnswer } from "./enter.js";
import { scopeOf } from "./fulfil.js";
import type { Member } from "./joint-hold.js";
import { giveBack, type Strangers } from "./joint-lock.js";
import type { LeaseLock } from "./lease-lock.js";
import type { LockIdentity } from "./lock-kind.js";
import type { Wish } from "./wish.js";

interface Wanted {
  readonly lock: LeaseLock;
  readonly wish: Wish;
}

/** What a call for several locks has brought: all of them, or one that stood in the way. */
interface Outcome {
  readonly members: readonly Member[];
  readonly missing?: LeaseLock;
}

/** True when the caller has nothing of the lock yet, so that it begins a stay. */
export function isFresh(lock: LockIdentity): boolean {
  const { outer, kin, thread } = claimOf(lock, undefined, () => new Thread());
  return outer === undefined && kin === undefined && thread.stayIn(lock.id) === undefined;
}

/**
 * Takes locks of one client, one script and one slot, of which the caller has none yet, in one command: all or none.
 * @throws the reason of a cancelled wait; UnavailableError, WrongTypeError
 */
export async function takeTogether(
  inOrder: readonly Wanted[],
  waiter: Waiter,
  strangers: Strangers,
): Promise<Outcome> {
  // As their script wants them: the fenced ones come last.
  const fencedOf = ({ lock }: Wanted) => Number(lock.identity.kind.fenced);
  const wanted = inOrder.toSorted((one, other) => fencedOf(one) - fencedOf(other));
  const parts = wanted.map((each) => begin(each, strangers));
  try {
    const attempt = attemptTogether(parts, wanted);
    const outcome = await waiter.unlessCancelled(attempt);
    if (outcome !== undefined && !waiter.cancelled) return outcome;
    attempt.then(
      ({ members }) => giveBack(members),
      () => undefined,
    );
    throw waiter.reason;
  } finally {
    for (const { holding } of parts) holding.isBeginning = false;
  }
}

function begin({ lock: { identity }, wish }: Wanted, strangers: Strangers): Part {
  const { client } = identity;
  const claim = claimOf(identity, undefined, () => strangers.to(client));
  wish.takenIn = scopeOf(identity, wish, claim);
  const holding = client.threads.begin(claim.thread, identity);
  holding.isBeginning = true;
  return { lock: identity, holding, wish, heldCount: 0 };
}

async function attemptTogether(parts: readonly Part[], wanted: readonly Wanted[]): Promise<Outcome> {
  const [first, ...others] = parts;
  const [firstWanted] = wanted;
  if (first === undefined || firstWanted === undefined) return { members: [] };
  for (const { holding } of parts) holding.unsettled();
  try {
    for (let tries = 1; ; tries += 1) {
      const outcome = await ask([first, ...others], wanted);
      if (outcome === undefined) return { members: [], missing: firstWanted.lock };
      if (outcome !== "late") return outcome;
      if (tries >= MOST_VAIN_TRIES) {
        const { server } = first.lock.client.commands;
        throw new UnavailableError(server, ANSWERS_LATE, false);
      }
    }
  } finally {
    for (const { lock, holding } of parts) {
      undoCopies(lock, holding);
      holding.settled();
    }
  }
}

/** @returns undefined when it was not sent, as the waiter's time is up or it was cancelled */
async function ask(
  parts: readonly [Part, ...Part[]],
  wanted: readonly Wanted[],
): Promise<Outcome | "late" | undefined> {
  const sent = await sendTogether(parts);
  if (sent === undefined) return undefined;
  const { reply: answers, shortfall, sentAt } = sent;
  const members: Member[] = [];
  let missing: LeaseLock | undefined;
  let free: LeaseLock | undefined;
  let late = false;
  try {
    if (shortfall !== undefined && answers.some(({ status }) => status === "held")) {
      const names = parts.map(({ lock }) => `"${lock.name}"`).join(", ");
      throw notReplicated(parts.map(({ lock }) => lock.name).join(", "), shortfall, `locks ${names} were`);
    }
    parts.forEach((part, at) => {
      const answer = answers[at];
      const lock = wanted[at]?.lock;
      if (answer === undefined || lock === undefined) return;
      if (answer.status === "held") {
        const given = { takenAt: sentAt, token: answer.token };
        const hold = enterByAnswer(part.lock, part.holding, part.wish, given);
        if (hold !== undefined) members.push({ lock, hold });
        else missing ??= lock;
        return;
      }
      const refused = refusal(part, answer, sent);
      if (refused === "late") late = true;
      else if (answer.status === "free") free ??= lock;
      else missing ??= lock;
    });
    if (late) return "late";
    // What is free, but was not taken, is missing as well.
    missing ??= free;
    return missing === undefined ? { members } : { members, missing };
  } catch (error) {
    giveBack(members);
    throw error;
  } finally {
    // What was written beside a refusal, or came too late to be of use, is taken back.
    parts.forEach(({ lock, holding }, at) => {
      if (answers[at]?.status === "held" && holding.inRedis.count === 0) cleanUp(lock, holding);
    });
  }
}

/**
 * Asks for locks of one client and one script in one command: all of them or none.
 * @returns undefined when it was not sent, as the waiter's time is up or it was cancelled
 */
async function sendTogether(
  parts: readonly [Part, ...Part[]],
): Promise<Exchanged<readonly AcquireAnswer[]> | undefined> {
  const [{ lock, wish }] = parts;
  const { commands, admission } = lock.client;
  const { waiter } = wish;
  const room =
    admission.enter(lock.key) ?? (await admission.turn({ key: lock.key, waiter, goesFirst: false }));
  if (room === undefined) return undefined;
  for (const part of parts) part.wish.attempts += 1;
  // The first stands for all of them.
  const sendings = parts.map((part, at) => new Sending(part, at === 0 ? room : undefined));
  const input = () => {
    const notAfterMs = commands.notAfterMs(lock.key);
    return { notAfterMs, together: true, locks: sendings.map((sending) => sending.item(notAfterMs)) };
  };
  try {
    const sent = await commands.exchange(lock.kind.acquire, lock.key, input, wish);
    sent.reply.forEach((answer, at) => {
      sendings[at]?.answered(answer, sent);
    });
    return sent;
  } catch (error) {
    for (const sending of sendings) sending.failed(error);
    throw error;
  }
}
