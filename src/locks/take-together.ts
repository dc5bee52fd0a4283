import { UnavailableError } from "../errors.js";
import type { AcquireAnswer } from "../protocol/lock-calls.js";
import type { Room } from "../runtime/admission.js";
import type { Exchanged } from "../runtime/exchanged.js";
import { ANSWERS_LATE, MOST_VAIN_TRIES } from "../runtime/late-answers.js";
import type { Waiter } from "../runtime/waiter.js";
import { Thread } from "../threads/thread.js";
import { AcquireCommand } from "./acquire-command.js";
import { claimOf, scopeOf } from "./claim.js";
import { undoCopies } from "./clean-up.js";
import { enterByAnswer } from "./enter.js";
import type { JointMember } from "./joint-hold.js";
import { giveBack } from "./joint-lock.js";
import type { LockIdentity, Part } from "./lock-kind.js";
import { reconcile } from "./reconciler.js";
import { notReplicated, refusal } from "./refusal.js";
import type { SingleLock } from "./single-lock.js";
import type { Strangers } from "./strangers.js";
import type { Wish } from "./wish.js";

export interface WantedLock {
  readonly lock: SingleLock;
  readonly wish: Wish;
}

/** The outcome of a call for several locks: all of them, or one that was not free. */
export interface TogetherOutcome {
  readonly members: readonly JointMember[];
  readonly missing?: SingleLock;
}

/** Whether the caller has no hold and no stay of the lock yet, so that the call begins a stay. */
export function isFresh(lock: LockIdentity): boolean {
  const { outer, kin, thread } = claimOf(lock, undefined, () => new Thread());
  return outer === undefined && kin === undefined && thread.stayIn(lock.id) === undefined;
}

/**
 * Takes locks of one client, one script and one slot, which the caller does not hold yet, in one command: all or none.
 * @param ended called when the wishes have recorded their obstacles
 * @throws the reason of a cancelled wait; UnavailableError, WrongTypeError
 * @see docs/internals/states.md#one-acquisition
 */
export async function takeTogether(
  inOrder: readonly WantedLock[],
  waiter: Waiter,
  strangers: Strangers,
  ended: () => void,
): Promise<TogetherOutcome> {
  // The script needs the fenced locks last.
  const fencedOf = ({ lock }: WantedLock) => Number(lock.identity.kind.fenced);
  const wanted = inOrder.toSorted((one, other) => fencedOf(one) - fencedOf(other));
  const parts = wanted.map((each) => partOf(each, strangers));
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
    for (const { stay } of parts) stay.isBeginning = false;
    ended();
  }
}

function partOf({ lock: { identity }, wish }: WantedLock, strangers: Strangers): Part {
  const { client } = identity;
  const claim = claimOf(identity, undefined, () => strangers.to(client));
  wish.takenIn = scopeOf(identity, wish, claim);
  const stay = client.threads.begin(claim.thread, identity);
  stay.isBeginning = true;
  return { lock: identity, stay, wish };
}

async function attemptTogether(
  parts: readonly Part[],
  wanted: readonly WantedLock[],
): Promise<TogetherOutcome> {
  const [first] = parts;
  if (first === undefined) return { members: [] };
  const { client, key, kind } = first.lock;
  const { commands, admission } = client;
  try {
    for (let tries = 1; ; tries += 1) {
      const { waiter } = first.wish;
      const room = admission.enter(key) ?? (await admission.turn({ key, waiter, goesFirst: false }));
      // The command was not sent: the waiter's time is up, or it was cancelled.
      if (room === undefined) return missingFirst(wanted);
      const sendings = begin(parts, room);
      const input = () => {
        const notAfterMs = commands.notAfterMs(key);
        return { notAfterMs, together: true, locks: sendings.map((sending) => sending.item(notAfterMs)) };
      };
      let sent: Exchanged<readonly AcquireAnswer[]>;
      try {
        sent = await commands.exchange(kind.acquire, key, input, first.wish);
      } catch (error) {
        for (const sending of sendings) sending.failed(error);
        throw error;
      }
      const outcome = read(sendings, wanted, sent);
      if (outcome !== "late") return outcome;
      if (tries >= MOST_VAIN_TRIES) throw new UnavailableError(commands.server, ANSWERS_LATE, false);
    }
  } finally {
    for (const { lock, stay } of parts) {
      undoCopies(lock, stay);
      stay.settled();
    }
  }
}

/** Makes the parts of one command for all locks. Only the first part reports to `Admission`, for all of them. */
function begin(parts: readonly Part[], room: Room): readonly AcquireCommand[] {
  return parts.map((part, at) => {
    part.wish.attempts += 1;
    return new AcquireCommand(part, at === 0 ? room : undefined);
  });
}

function missingFirst([first]: readonly WantedLock[]): TogetherOutcome {
  return first === undefined ? { members: [] } : { members: [], missing: first.lock };
}

/** @throws NotReplicatedError, WrongTypeError, UnavailableError */
function read(
  parts: readonly AcquireCommand[],
  wanted: readonly WantedLock[],
  sent: Exchanged<readonly AcquireAnswer[]>,
): TogetherOutcome | "late" {
  const { reply: answers, shortfall, sentAt } = sent;
  const members: JointMember[] = [];
  let missing: SingleLock | undefined;
  let free: SingleLock | undefined;
  let late = false;
  answers.forEach((answer, at) => {
    parts[at]?.answered(answer, sent);
  });
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
        const hold = enterByAnswer(part.lock, part.stay, part.wish, given);
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
    // If no lock was taken by another owner, a free lock that was not acquired counts as missing.
    missing ??= free;
    return missing === undefined ? { members } : { members, missing };
  } catch (error) {
    giveBack(members);
    throw error;
  } finally {
    // Releases locks whose hold was not used because another lock was refused, or because the answer came too late.
    parts.forEach(({ lock, stay }, at) => {
      if (answers[at]?.status === "held" && stay.inRedis.count === 0) reconcile(lock, stay);
    });
  }
}
