import { types } from "node:util";
/**
 * Errors with a stable `code`. Compare codes, not messages. Wrong arguments are a
 * `TypeError` or a `RangeError` instead, and a cancelled wait rejects with the reason of its own signal.
 */
export abstract class HoldfastError extends Error {
  /** Stable across versions. */
  abstract readonly code: string;

  override get name(): string {
    return this.constructor.name;
  }
}

/** The holder that had the lock, if it is known. */
export interface Obstacle {
  /** The holder as stored in Redis. */
  readonly holder: string;
  /** Remaining milliseconds of the holder's lease when the error is created, computed from the last answer about it; -1 if the key has no TTL. */
  readonly ttlMs: number;
  /** True when the holder is a thread of the client that waited; false for a lock that is only kept (`keepForMs`). */
  readonly own: boolean;
}

/** `waitMs` ran out before the lock was free, or before there were enough permits. */
export class WaitTimeoutError extends HoldfastError {
  override readonly code = "ERR_HOLDFAST_WAIT_TIMEOUT";
  /** How long the call waited, in milliseconds. */
  readonly waitedMs: number;
  constructor(
    readonly lockName: string,
    waitedMs: number,
    /** The holder that the last attempt saw; undefined if it saw none. */
    readonly obstacle: Obstacle | undefined,
    /** The lock or permits that the call waited for, as the message names them. */
    wanted: string = lockBehind(lockName, obstacle),
  ) {
    super(`waited ${Math.round(waitedMs)} ms for ${wanted}`);
    this.waitedMs = Math.round(waitedMs);
  }
}

/** A lock and its holder, as error messages name them. @param reentry the option: how the caller may re-enter a lock that it holds */
export function lockBehind(
  lockName: string,
  obstacle: Obstacle | undefined,
  reentry: "scope" | "explicit" = "scope",
): string {
  const lock = `lock "${lockName}"`;
  if (obstacle === undefined) return lock;
  const lease =
    obstacle.ttlMs < 0
      ? "without a TTL"
      : `its lease ends in ${Math.round(obstacle.ttlMs)} ms unless it is renewed`;
  if (!obstacle.own) return `${lock}, held by ${obstacle.holder} (${lease})`;
  const way = reentry === "scope" ? "call this inside lease.run() or using(), or pass" : "pass";
  const hint = `to enter a lock that the caller itself holds, ${way} { threadId: lease.threadId }`;
  return `${lock}, held by this client as ${obstacle.holder} (${lease}); ${hint}`;
}

/**
 * Why a lease is over before it was released: `expired`, its time ran out; `stolen`, the hold was removed or taken over in Redis before
 * that; `unreachable`, it could not be renewed in time; `max-hold`, `maxHoldMs` ran out; `closed`, its client was closed; `released`, the
 * hold that a call was about to re-enter was released first; `server-changed`, the key's new server does not have it, or could not confirm
 * it.
 */
export type LossReason =
  | "expired"
  | "stolen"
  | "unreachable"
  | "max-hold"
  | "closed"
  | "released"
  | "server-changed";

/** The lease cannot be trusted any more: another caller may hold the lock, or the permits. */
export class LeaseLostError extends HoldfastError {
  override readonly code = "ERR_HOLDFAST_LEASE_LOST";
  /** Whole milliseconds from the acquisition to the end of the lease, however late that was noticed. */
  readonly heldMs: number;
  constructor(
    readonly lockName: string,
    readonly holder: string,
    readonly reason: LossReason,
    heldMs: number,
    options?: ErrorOptions,
  ) {
    super(`lease of "${lockName}" lost after ${Math.round(heldMs)} ms: ${LOSSES[reason]}`, options);
    this.heldMs = Math.round(heldMs);
  }
}

const LOSSES: Readonly<Record<LossReason, string>> = {
  expired: "its time ran out",
  stolen: "the hold was removed or taken over in Redis",
  unreachable: "it could not be renewed in time",
  "max-hold": "maxHoldMs ran out",
  closed: "the client was closed",
  "server-changed": "its server has changed, and the new one could not confirm it",
  released: "it was released before it could be entered again",
};

/** The caller released a lock, or permits, that it does not hold, or no longer holds. */
export class NotHeldError extends HoldfastError {
  override readonly code = "ERR_HOLDFAST_NOT_HELD";
  constructor(
    readonly lockName: string,
    why: string,
    options?: ErrorOptions,
    what = `lock "${lockName}" is`,
  ) {
    super(`${what} not held${why.startsWith("by ") ? " " : ": "}${why}`, options);
  }
}

/** A re-entry that would deadlock or that the kind of lock does not allow. */
export class ReentryError extends HoldfastError {
  override readonly code = "ERR_HOLDFAST_REENTRY";
  constructor(
    readonly lockName: string,
    why: string,
  ) {
    super(`lock "${lockName}" can not be entered again here: ${why}`);
  }
}

/** A reader asked for the write lock without releasing its read lock: two readers that do so would wait for each other for ever. */
export class UpgradeNotSupportedError extends HoldfastError {
  override readonly code = "ERR_HOLDFAST_UPGRADE";
  constructor(readonly lockName: string) {
    super(
      `the write lock of "${lockName}" can not be taken while holding its read lock: release the read lock first, or take the write lock from the start`,
    );
  }
}

/**
 * Redis did not answer, or refused. The outcome of the command may be unknown; holdfast then takes back its possible effect. `cause` is the
 * error of the Redis client, if it reported one.
 */
export class UnavailableError extends HoldfastError {
  override readonly code = "ERR_HOLDFAST_UNAVAILABLE";
  constructor(
    /** The server in question, without credentials. */
    readonly server: string,
    why: string,
    /** False if the command surely had no effect: the server refused it, or it was never sent. */
    readonly outcomeUnknown: boolean,
    options?: ErrorOptions,
  ) {
    super(`${server}: ${why}`, options);
  }
}

/**
 * Too few replicas acknowledged the lock or the permits in time, so they were given back. Only with the option `replicas` in mode `require`.
 */
export class NotReplicatedError extends HoldfastError {
  override readonly code = "ERR_HOLDFAST_NOT_REPLICATED";
  constructor(
    readonly lockName: string,
    /** How many replicas acknowledged it. */
    readonly acknowledged: number,
    /** How many were required. */
    readonly wanted: number,
    /** How many milliseconds the call waited for the replicas. */
    readonly timeoutMs: number,
    what = `lock "${lockName}" was`,
  ) {
    super(
      `${what} released again: ${acknowledged} of ${wanted} required replicas acknowledged it within ${timeoutMs} ms`,
    );
  }
}

/** So few of a red lock's servers answered that no majority can be reached. */
export class QuorumError extends HoldfastError {
  override readonly code = "ERR_HOLDFAST_QUORUM";
  constructor(
    readonly lockName: string,
    /** How many servers granted their lock; their locks were given back. */
    readonly acquired: number,
    /** How many were needed. */
    readonly wanted: number,
    /** Why the other servers failed, one error each. */
    readonly failures: readonly unknown[],
  ) {
    const why = failures.map((failure) => (types.isNativeError(failure) ? failure.message : String(failure)));
    const failed = failures.length === 1 ? "1 server" : `${failures.length} servers`;
    super(
      `red lock "${lockName}": ${failed} failed, so a majority of ${wanted} can not be reached: ${why.join("; ")}`,
      { cause: new AggregateError(failures) },
    );
  }
}

/** The key of a lock, a semaphore or a latch holds something else. */
export class WrongTypeError extends HoldfastError {
  override readonly code = "ERR_HOLDFAST_WRONG_TYPE";
  constructor(
    readonly key: string,
    /** Redis' name for the key's type: `string`, `list`, … */
    readonly type: string,
    wanted = "lock",
  ) {
    super(`key "${key}" is not a ${wanted.replace(/-(?=\w+$)/, " ")}: it holds a ${type}`);
  }
}

/** The client was closed. */
export class ClientClosedError extends HoldfastError {
  override readonly code = "ERR_HOLDFAST_CLOSED";
  constructor() {
    super("this Holdfast client is closed");
  }
}

/** The name is not allowed for a lock, semaphore or latch. */
export class InvalidNameError extends HoldfastError {
  override readonly code = "ERR_HOLDFAST_INVALID_NAME";
  constructor(why: string) {
    super(why);
  }
}
