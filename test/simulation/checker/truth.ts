import {
  ClientClosedError,
  LeaseLostError,
  NotHeldError,
  NotReplicatedError,
  QuorumError,
  UnavailableError,
  UpgradeNotSupportedError,
  WaitTimeoutError,
} from "../../../src/errors.js";
import type { Asked } from "../workload/caller.js";
import type { Member, Scene } from "../workload/member.js";
import type { PendingCall } from "./calls.js";
import { untrueObstacle } from "./obstacles.js";

/** A call that has failed, and all that may explain it. */
export interface Failed {
  readonly asked: Asked;
  readonly call: PendingCall;
  readonly scene: Scene;
  readonly member: Member;
}

/** What takes a hold away in Redis before its time. */
export const THEFTS = [
  "force-unlock",
  "server-emptied",
  "server-older",
  "failover",
  "failover after a crash",
  "node dies",
  "slot moves to one that dies",
  "server-clock-step",
  "server ahead takes over",
];
const MOVES = ["slot moves", "slot moves on", "slot moves ahead of a replica"];
/** For how long a fault may explain what comes after it, beyond the command timeout. */
const ECHO_US = 2_000_000;

/** @returns what is wrong with an error that a call has thrown; undefined: it is true */
export function untrue(error: unknown, failed: Failed): string | undefined {
  const { asked, call, scene, member } = failed;
  if (asked.signal?.aborted === true && error === asked.signal.reason) return undefined;
  if (asked.explains?.(error) === true) return undefined;
  if (error instanceof ClientClosedError)
    return member.isClosing ? undefined : "nobody has closed the client";
  if (error instanceof WaitTimeoutError) return untrueRefusal(failed) ?? untrueObstacle(error, failed);
  if (error instanceof QuorumError) return untrueQuorum(error, failed);
  // What befalls replicas befalls everybody who wants them.
  if (error instanceof NotReplicatedError && (isTooShort(asked) || scene.trouble.hasBegun)) return undefined;
  if (error instanceof UnavailableError && error.message.includes("TRYAGAIN") && isAboutOneKey(failed)) {
    return `${error.message}, but a call that is about one key need not wait until its slot has moved`;
  }
  if (error instanceof UnavailableError || error instanceof NotReplicatedError) {
    const { calls } = scene.checker;
    const isOutpaced = call.names.some(
      (name) => calls.changedUs(name) >= call.startUs || scene.occupied.wasTakenAgain(name, call.startUs),
    );
    if (asked.isForce === true && isOutpaced) return undefined;
    // A call under the same id that was cancelled may not have been answered yet.
    if (asked.sharesId === true && error.message.includes("the last call of this thread")) return undefined;
    const isSpent =
      error.message.includes("before it could be used") &&
      (hasEnd(asked) || scene.trouble.happened(...THEFTS));
    return isTroubled(failed) || isSlow(member) || isSpent
      ? undefined
      : `${error.message}, but nothing has happened to it`;
  }
  if (error instanceof LeaseLostError) return untrueLoss(error, failed);
  if (error instanceof UpgradeNotSupportedError && asked.sharesId === true) return undefined;
  if (error instanceof NotHeldError) {
    if (error.cause instanceof LeaseLostError) return untrueLoss(error.cause, failed);
    const isExplained = asked.mayBeOver === true || isTroubled(failed) || scene.trouble.happened(...THEFTS);
    return isExplained ? undefined : error.message;
  }
  return `unexpected ${error instanceof Error ? (error.stack ?? error.message) : String(error)} after ${call.startUs} us`;
}

/** Whether it takes or frees locks whose queues are all that they have beside their keys, and had all its time for that. */
function isAboutOneKey({ asked, call, scene }: Failed): boolean {
  if (!scene.trouble.isOnly(...MOVES)) return false;
  const isPlain = (name: string) =>
    scene.shared.some(
      (each) => each.name === name && (each.kind === "lock" || each.kind === "non-reentrant"),
    );
  return /^(lock|tryLock|using|tryUsing|unlock)\b/.test(asked.what) && call.names.every(isPlain);
}

/** A majority can not be reached: each of the failures is one that has happened. */
function untrueQuorum({ failures, message }: QuorumError, failed: Failed): string | undefined {
  if (isTroubled(failed) || isTooFar(failed)) return undefined;
  const complaints = failures.map((error) => untrue(error, failed)).filter((each) => each !== undefined);
  return complaints.length === 0 ? undefined : `${message}: ${complaints.join("; ")}`;
}

/** Replicas are waited for in a quarter of a lease: without any trouble they need so long, and the way there and back. */
const REPLICAS_NEED_MS = 40;

function isTooShort(asked: Asked): boolean {
  const leases = [asked, ...(asked.around ?? [])].map(({ leaseMs = Number.POSITIVE_INFINITY }) => leaseMs);
  return Math.min(...leases) / 4 < REPLICAS_NEED_MS;
}

/** Whether what it wants has a lease that ends by itself. */
function hasEnd({ leaseMs, maxHoldMs }: Asked): boolean {
  return leaseMs !== undefined || maxHoldMs !== undefined;
}

/** A first call of a connection on which replicas are asked needs three round trips, and a fourth to be confirmed. */
function isSlow({ plan: { distance, options } }: Member): boolean {
  return (8 * (distance.leastUs + distance.spreadUs)) / 1_000 >= options.commandTimeoutMs;
}

/** What a timer may be late by. */
const LATE_MS = 5;

/** A member of a red lock is connected to and answers two questions in the time that it is waited for: some can not. */
function isTooFar({ asked, member }: Failed): boolean {
  const { distance, options } = member.plan;
  const leases = [asked, ...(asked.around ?? [])].map(
    ({ leaseMs = Number.POSITIVE_INFINITY }) => leaseMs / 4,
  );
  const timeoutMs = Math.min(options.redMemberTimeoutMs, ...leases);
  return (8 * (distance.leastUs + distance.spreadUs)) / 1_000 + LATE_MS >= timeoutMs;
}

/** Something has befallen the process, its connections or its server that the call may have felt. */
function isTroubled({ call, member, scene }: Pick<Failed, "call" | "member" | "scene">): boolean {
  const { commandTimeoutMs } = member.plan.options;
  return scene.trouble.has(member.process.name, call.startUs - 2_000 * commandTimeoutMs - ECHO_US);
}

/** A process' clock may be this much slower than time. */
const BY_ITS_CLOCK = 0.99;

/** @returns what is wrong with a call that was refused, or has timed out */
export function untrueRefusal(failed: Failed): string | undefined {
  const { asked, call, scene, member } = failed;
  const { occupied, checker, holders } = scene;
  // By its own clock: its code may have been stopped since it looked at that.
  const waitedMs = (member.process.nowUs - call.startUs) / 1_000;
  const isEarly = asked.waitMs > 0 && waitedMs < asked.waitMs * BY_ITS_CLOCK;
  if (isEarly) return `it was to wait for ${asked.waitMs} ms, of which ${waitedMs} are over`;
  if (asked.names.some((name) => occupied.wasTold(name, call))) return undefined;
  if (asked.sharesId === true && checker.calls.others(call).length > 0) return undefined;
  // What its own client believes in stands in the way, also when it has been freed by force.
  if (asked.names.some((name) => checker.isHad(name, member.process.name))) return undefined;
  // So does what it has heard to have, and no lease was handed out for: a lock of several while it goes for the others, or of a fire before
  // the body has begun; and what is being given back, for as long as its server has it.
  const isOwn = (name: string) => holders.hasHeardOfOwn(name, member.process.name, call.startUs);
  if (asked.names.some(isOwn)) return undefined;
  // So does what its program has forgotten, until its time is over.
  const isForgotten = (name: string) => checker.forgotten.has(`${member.process.name} ${name}`);
  if (asked.names.some((name) => isForgotten(name) && occupied.wasTaken(name, call.startUs)))
    return undefined;
  if (asked.sharesId === true && isBeingCleared(failed)) return undefined;
  return asked.names.some((name) => occupied.wasTaken(name, call.startUs))
    ? "its client was told by no answer that the lock was taken"
    : "nobody had the lock or stood in its queue";
}

/** Whether what is no lock with one key may have been taken: a joint lock by one of its members; permits tell it themselves. */
function isTheft(name: string, { shared, trouble }: Scene): boolean {
  return shared.every((each) => each.name !== name) && trouble.happened(...THEFTS);
}

/**
 * What the last stay under an id has left is taken away before the next one, for which a call that may not wait is too early. One that
 * was cancelled may go on for several ways of an answer: its server has to be found and met before it is asked for the lock.
 */
function isBeingCleared({ asked, call, scene, member }: Failed): boolean {
  const { leastUs, spreadUs } = member.plan.distance;
  const sinceUs = call.startUs - 2 * (leastUs + spreadUs);
  const isLeft = asked.names.some((name) => {
    const endedUs = scene.checker.calls.endedUs(member.process.name, name);
    const isAsking = endedUs > 0 && member.lines.some(({ commands }) => commands.isAsking(name));
    return endedUs >= sinceUs || isAsking || scene.occupied.wasTaken(name, sinceUs);
  });
  return isLeft || isTroubled({ call, scene, member });
}

function untrueLoss(loss: LeaseLostError, failed: Failed): string | undefined {
  const { asked, member, scene } = failed;
  const { lockName: name, holder, reason, heldMs, cause } = loss;
  // Locks that were taken together are lost with one of them.
  if (cause instanceof LeaseLostError && asked.isRed !== true) {
    return cause.reason === reason ? untrueLoss(cause, failed) : `${cause.message}: that is not ${reason}`;
  }
  const complaint = scene.losses.untrue({ name, holder, reason, heldMs });
  if (complaint !== undefined) return complaint;
  const holds = [asked, ...(asked.around ?? [])];
  const wasHurt = scene.trouble.has(member.process.name, 0);
  switch (reason) {
    case "expired":
      // Of several locks that were taken together and of which one is lost the others are renewed no more.
      return holds.some(({ leaseMs }) => leaseMs !== undefined) || wasHurt || isTheft(name, scene)
        ? undefined
        : `its time ran out after ${heldMs} ms, but it was renewed`;
    case "unreachable":
      return wasHurt ? undefined : "the server was reachable all the time";
    case "stolen":
      // A close that releases what is held takes it from those who are about to give it back.
      return isTheft(name, scene) || scene.holders.knows(name) || member.isClosing
        ? undefined
        : "nobody has taken it";
    case "max-hold":
      // A call under an id that somebody else has in the lock as well is told how that hold ended.
      return asked.sharesId === true || holds.some(({ maxHoldMs }) => maxHoldMs !== undefined)
        ? undefined
        : "it had no maxHoldMs";
    case "closed":
      return member.isClosing ? undefined : "nobody has closed the client";
    case "server-changed":
    case "released":
      return undefined;
    default:
      return reason satisfies never;
  }
}
