import type { Lease, Tried } from "../lease.js";
import type { LockOptions, UnlockOptions } from "../options.js";

/**
 * A lock by its name. It keeps nothing but that name: any number of lock objects, in any number of processes, Node's or
 * JVMs', that share one name are one lock.
 *
 * All methods reject with `UnavailableError` when Redis does not answer or refuses, with `WrongTypeError` when the key
 * is something else, and, but for `unlock`, with `ClientClosedError` once the client is closed; a red lock with
 * `QuorumError`, when that happens on too many servers. Wrong arguments are a `TypeError` or a `RangeError`. Source:
 * Redisson's RLock.
 */
export interface Lock<L extends Lease = Lease> {
  /** As the program called it. */
  readonly name: string;

  /**
   * Acquires the lock, waiting for as long as `waitMs` says, by default for ever.
   *
   * Outside of `using`, `run` and `asThread`, each call is a stranger to every other; inside, it re-enters the locks of
   * those, see the guide.
   * @throws WaitTimeoutError when `waitMs` ran out; the signal's reason when it aborts; ReentryError,
   * UpgradeNotSupportedError where waiting would be for ever; LeaseLostError when the hold to re-enter is lost;
   * NotHeldError for the threadId of a lease that is over
   */
  lock(options?: LockOptions): Promise<L>;

  /**
   * Acquires the lock if it is free, by default without waiting, in one round trip.
   * @returns null when another owner has it
   * @throws as `lock`, but for WaitTimeoutError
   */
  tryLock(options?: LockOptions): Promise<L | null>;

  /**
   * Runs a body under the lock and releases it afterwards. What the body calls may enter the lock once more.
   *
   * Rejects with the body's own error if it threw. Else with LeaseLostError if the lease was lost while it ran: the work may have collided
   * with that of another owner. Else it resolves with what the body returned. A release that failed is told by the event
   * `holdfast:lease:release-failed`.
   *
   * With `keepForMs` the lock stays taken for so long after the body, also where that threw, as its work may have been done in part; a body that
   * calls `lease.unlock()` frees it. Where the body leaves another hold of the thread, the lock is not kept, which that event tells.
   * @throws as `lock`; TypeError, with `keepForMs`, where the lock can not be kept, or the caller has it: the body is not run
   */
  using<T>(body: (lease: L) => T | Promise<T>): Promise<T>;
  using<T>(options: LockOptions & UnlockOptions, body: (lease: L) => T | Promise<T>): Promise<T>;

  /**
   * Runs a body under the lock if it is free, by default without waiting, and releases it afterwards.
   * @returns whether the body was run, and what it returned
   * @throws as `using`, but for WaitTimeoutError
   */
  tryUsing<T>(body: (lease: L) => T | Promise<T>): Promise<Tried<T>>;
  tryUsing<T>(options: LockOptions & UnlockOptions, body: (lease: L) => T | Promise<T>): Promise<Tried<T>>;

  /**
   * Releases the innermost hold of a thread: of the given one, or inside `asThread` of the current one. Anywhere else a
   * hold is released by its lease.
   * @throws NotHeldError
   */
  unlock(threadId?: number): Promise<void>;

  /**
   * Frees the lock from any holder, and tells its waiters. The former holder finds its lease lost.
   * @returns false when it was free
   */
  forceUnlock(): Promise<boolean>;

  /** Whether the lock is held, by this or any other client. */
  isLocked(): Promise<boolean>;

  /** Whether a scope around the caller holds the lock. */
  isHeldByCurrentThread(): Promise<boolean>;

  /** Whether a thread of this client holds the lock. */
  isHeldByThread(threadId: number): Promise<boolean>;

  /** How often the given or the current thread holds the lock, as Redis counts; 0 when it does not. */
  getHoldCount(threadId?: number): Promise<number>;

  /** Milliseconds until the lock falls by itself; -2 when it is free, -1 when its key has no TTL. */
  remainTimeToLive(): Promise<number>;
}
