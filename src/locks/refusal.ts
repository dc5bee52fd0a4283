import {
  LeaseLostError,
  type LossReason,
  NotReplicatedError,
  UnavailableError,
  WrongTypeError,
} from "../errors.js";
import { events } from "../events.js";
import type { AcquireAnswer } from "../protocol/lock-calls.js";
import { refusedInScript } from "../runtime/command-failures.js";
import type { Exchanged } from "../runtime/exchanged.js";
import type { Instant } from "../runtime/instant.js";
import type { Shortfall } from "../runtime/replication.js";
import { tellContended } from "./contention.js";
import type { LockIdentity, Part } from "./lock-kind.js";

/** The outcome of the last call under a chosen id is unknown, so the next one cannot be sent. */
export function unanswered({ client }: LockIdentity): UnavailableError {
  const why = "the last call of this thread for the lock is still unanswered";
  return new UnavailableError(client.commands.server, why, false);
}

export function notReplicated(
  name: string,
  { acknowledged, wanted, timeoutMs }: Shortfall,
  what?: string,
): NotReplicatedError {
  return new NotReplicatedError(name, acknowledged, wanted, timeoutMs, what);
}

/**
 * Interprets an answer other than "held". `late`: the command arrived after its deadline. `leftover`: lost holds of an earlier stay under
 * the same chosen id are still stored.
 * @throws LeaseLostError, WrongTypeError, UnavailableError
 */
export function refusal(
  part: Part,
  answer: Exclude<AcquireAnswer, { status: "held" }>,
  { sentAt, resets, repeated }: Exchanged<unknown>,
): "busy" | "late" | "leftover" {
  const { lock, wish } = part;
  // All later attempts remember a repeat: one copy of an attempt may have been in time although another copy was answered `late`.
  wish.repeated ||= repeated;
  switch (answer.status) {
    case "queued":
      wish.place = {
        sentAt,
        resets,
        pushed: answer.pushed,
        meetsJvm: answer.meetsJvm,
        repeated: wish.repeated,
        fallsInMs: answer.isHead && answer.ttlMs >= 0 ? answer.ttlMs : undefined,
      };
      seenHeld(part, answer, sentAt);
      return "busy";
    case "busy":
      wish.waiting = answer.waiting;
      seenHeld(part, answer, sentAt);
      return "busy";
    case "free":
      return "busy";
    case "late":
      return "late";
    case "lost":
      throw lossOf(part, "stolen");
    case "miscounted":
      if (!wish.again) return "leftover";
      throw lossOf(part, "stolen");
    case "wrong-type":
      throw new WrongTypeError(lock.key, answer.type);
    case "refused":
      throw refusedInScript(lock.client.commands.server, answer.message);
  }
}

/** A fair lock that is free but granted to a waiter has no holder. */
function seenHeld(part: Part, { holder, ttlMs }: { holder: string; ttlMs: number }, sentAt: Instant): void {
  const { lock, wish } = part;
  wish.waiter.told();
  lock.client.lines.of(lock.id)?.answers.taken(sentAt.monotonicMs);
  if (holder !== "") wish.saw(lock, holder, ttlMs);
  if (wish.isContended) return;
  wish.isContended = true;
  if (!events.contended.hasSubscribers) return;
  tellContended(part, { holder, ttlMs, behind: lock.client.fairQueues.standing(lock.key) });
}

/** @param found the loss that the answer has just shown; undefined if the loss was already known */
export function lossOf({ lock, stay, wish }: Part, found?: LossReason): LeaseLostError {
  // If the call reads beside a write hold, it is that write hold that was lost.
  const gone = wish.again ? stay : (wish.kin?.stay ?? stay);
  if (found !== undefined) gone.loseAll(found);
  return gone.loss ?? new LeaseLostError(lock.name, gone.field, "released", 0);
}
