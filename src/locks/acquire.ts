import { ServerReplyError } from "../driver/driver.js";
import {
  LeaseLostError,
  type LossReason,
  NotReplicatedError,
  UnavailableError,
  WrongTypeError,
} from "../errors.js";
import { events } from "../events.js";
import type { AcquireAnswer } from "../protocol/lock-calls.js";
import type { Exchanged } from "../runtime/commands.js";
import { ANSWERS_LATE, MOST_VAIN_TRIES } from "../runtime/late-answers.js";
import type { Shortfall } from "../runtime/replication.js";
import type { Hold } from "../threads/hold.js";
import type { Holding } from "../threads/holding.js";
import { Asking, type Part } from "./asking.js";
import { cleanUp, takeBack, undoCopies } from "./clean-up.js";
import { enterByAnswer } from "./enter.js";
import type { LockIdentity } from "./lock-kind.js";
import { giveBack } from "./release.js";
import type { Wish } from "./wish.js";

/**
 * Asks Redis, once unless the answer comes too late to be of use.
 * @param askAgain whether to ask under the same field when the lease was over already; false: the lock is given back
 * @returns undefined when somebody else has the lock
 * @throws the reason of a cancelled wait; LeaseLostError when the stay to enter is over; UnavailableError, WrongTypeError
 */
export async function ask(
  lock: LockIdentity,
  holding: Holding,
  wish: Wish,
  askAgain = true,
): Promise<Hold | undefined> {
  const { waiter } = wish;
  const attempt = attemptUntilOfUse(lock, holding, wish, askAgain);
  const hold = await waiter.unlessCancelled(attempt);
  if (hold !== undefined || !waiter.cancelled) return hold;
  // Whatever the attempt brings is given back behind the scenes.
  holding.unsettled();
  const givenBack = attempt.then((late) => (late === undefined ? undefined : giveBack(lock, late)));
  lock.client.inBackground(() =>
    givenBack.finally(() => {
      undoCopies(lock, holding);
      holding.settled();
    }),
  );
  throw waiter.reason;
}

/** Nobody knows what the last call of a thread has left. */
export function unanswered({ client }: LockIdentity): UnavailableError {
  const why = "it has not answered the last call of this thread for the lock";
  return new UnavailableError(client.commands.server, why, false);
}

export function notReplicated(
  name: string,
  { acknowledged, wanted, timeoutMs }: Shortfall,
  what?: string,
): NotReplicatedError {
  return new NotReplicatedError(name, acknowledged, wanted, timeoutMs, what);
}

async function attemptUntilOfUse(
  lock: LockIdentity,
  holding: Holding,
  wish: Wish,
  askAgain: boolean,
): Promise<Hold | undefined> {
  const { waiter } = wish;
  const { commands } = lock.client;
  for (let vainTries = 0; ; ) {
    const outcome = await holding.inRedis.inTurn(() => attempt(lock, holding, wish));
    if (outcome === "busy") return undefined;
    if (outcome instanceof NotReplicatedError) {
      // Who asks several servers at once does not wait for one that is slow to take its lock back.
      if (wish.timeoutMs !== undefined) cleanUp(lock, holding, { goesOn: true });
      else await takeBack(lock, holding);
      throw outcome;
    }
    if (typeof outcome !== "string") return outcome;
    const isSpent = outcome === "spent";
    if (isSpent || outcome === "leftover") {
      // Nor does a call whose time is up.
      let isClean = wish.timeoutMs !== undefined;
      cleanUp(lock, holding, { goesOn: isClean || askAgain }, () => {
        isClean = true;
        waiter.wake();
      });
      // What it has in Redis is being given back: it can not take over meanwhile what another call leaves.
      const { heir } = waiter;
      waiter.heir = undefined;
      while (!isClean && !waiter.over) await waiter.pause();
      waiter.heir = heir;
      if (wish.timeoutMs !== undefined || !askAgain) return undefined;
      // A copy of the release would take away what is asked for next.
      if (isClean && holding.inRedis.copiesUntilMs > 0) throw unanswered(lock);
    }
    if (!isSpent && ++vainTries >= MOST_VAIN_TRIES) {
      throw new UnavailableError(commands.server, ANSWERS_LATE, false);
    }
    if (waiter.cancelled || (isSpent && waiter.over)) return undefined;
  }
}

/**
 * `late`: the command arrived after its deadline. `spent`: it was taken, but the lease is over already. `leftover`: holds
 * of an earlier stay under the same explicit id, which were lost, are still there.
 */
async function attempt(
  lock: LockIdentity,
  holding: Holding,
  wish: Wish,
): Promise<Hold | NotReplicatedError | "busy" | "late" | "spent" | "leftover"> {
  const heldCount = holding.inRedis.count;
  if (wish.again && heldCount === 0) throw lossOf(lock, holding, wish);
  wish.place = undefined;
  const part = { lock, holding, wish, heldCount };
  const asking = wish.first ?? new Asking(part).ask();
  wish.first = undefined;
  const asked = await asking;
  if (asked === undefined) return "busy";
  const { answer, command } = asked;
  if (answer.status === "held") {
    const { shortfall, sentAt } = command;
    if (shortfall !== undefined) return notReplicated(lock.name, shortfall);
    return enterByAnswer(lock, holding, wish, { takenAt: sentAt, token: answer.token }) ?? "spent";
  }
  return refusal(part, answer, command);
}

/**
 * What an answer other than "held" comes to.
 * @throws LeaseLostError, WrongTypeError, UnavailableError
 */
export function refusal(
  { lock, holding, wish }: Part,
  answer: Exclude<AcquireAnswer, { status: "held" }>,
  { sentAt, resets, repeated }: Exchanged<unknown>,
): "busy" | "late" | "leftover" {
  // Also the copies of one that came too late in the end.
  wish.repeated ||= repeated;
  switch (answer.status) {
    case "queued":
      wish.place = {
        sentAt,
        resets,
        pushed: answer.pushed,
        repeated: wish.repeated,
        fallsInMs: answer.isHead && answer.ttlMs >= 0 ? answer.ttlMs : undefined,
      };
      seenHeld(lock, wish, answer);
      return "busy";
    case "busy":
      seenHeld(lock, wish, answer);
      return "busy";
    case "free":
      return "busy";
    case "late":
      return "late";
    case "lost":
      throw lossOf(lock, holding, wish, "stolen");
    case "miscounted":
      if (!wish.again) return "leftover";
      throw lossOf(lock, holding, wish, "stolen");
    case "wrong-type":
      throw new WrongTypeError(lock.key, answer.type);
    case "refused": {
      const cause = new ServerReplyError(answer.message);
      throw new UnavailableError(lock.client.commands.server, cause.message, false, { cause });
    }
  }
}

function seenHeld(
  lock: LockIdentity,
  wish: Wish,
  { holder, ttlMs }: { holder: string; ttlMs: number },
): void {
  if (holder === "") return;
  wish.saw(lock, holder, ttlMs);
  if (wish.attempts === 1 && events.contended.hasSubscribers) {
    const own = lock.client.owns(holder);
    events.contended.publish({ name: lock.name, kind: lock.kind.name, holder, ttlMs, own });
  }
}

/** @param found what Redis has just told; undefined when the loss was known before */
function lossOf(lock: LockIdentity, holding: Holding, wish: Wish, found?: LossReason): LeaseLostError {
  // A reader that is to enter on the strength of a write hold finds that one gone.
  const gone = wish.again ? holding : (wish.kin?.holding ?? holding);
  if (found !== undefined) gone.loseAll(found);
  return gone.loss ?? new LeaseLostError(lock.name, gone.field, "released", 0);
}
