import type { Lease, Tried } from "../lease.js";
import type { LockOptions, UnlockOptions } from "../options.js";

/**
 * A lock, identified by its name. The object stores only the name: all lock objects with the same name are one lock, in all Node processes
 * and JVMs.
 *
 * All methods reject with `UnavailableError` when Redis does not answer or refuses, with `WrongTypeError` when the key holds something
 * else, and, except for `unlock`, with `ClientClosedError` once the client is closed. A red lock rejects with `QuorumError` when that
 * happens on too many servers. Wrong arguments are a `TypeError` or a `RangeError`. Source: Redisson's RLock.
 */
export interface Lock<L extends Lease = Lease> {
  /** The name that the program uses. */
  readonly name: string;

  /**
   * Acquires the lock. Waits at most `waitMs`, by default for ever.
   *
   * Outside `using`, `run` and `asThread`, each call is a separate owner. Inside, a call re-enters the locks of the bodies around it; see
   * the guide.
   * @throws WaitTimeoutError when `waitMs` runs out; the signal's reason when it aborts; ReentryError, UpgradeNotSupportedError where the
   * call would wait for ever; LeaseLostError when the hold to re-enter is lost; NotHeldError for the threadId of a released or lost lease
   * @example await using lease = await lock.lock({ waitMs: 5_000 });
   */
  lock(options?: LockOptions): Promise<L>;

  /**
   * Acquires the lock if it is free, by default without waiting, in one round trip.
   * @returns null when another owner has it
   * @throws the errors of `lock` except WaitTimeoutError
   * @example
   * const lease = await lock.tryLock();
   * if (lease !== null) await work().finally(() => lease.unlock());
   */
  tryLock(options?: LockOptions): Promise<L | null>;

  /**
   * Runs a body under the lock and releases it afterwards. Calls inside the body may re-enter the lock.
   *
   * Rejects with the body's own error if it threw. Otherwise rejects with LeaseLostError if the lease was lost while the body ran, because
   * its work may have collided with another owner's. Otherwise resolves with the body's result. If the release fails, the event
   * `holdfast:lease:release-failed` is published.
   *
   * With `keepForMs`, the lock stays taken for that time after the body, even if the body threw, because its work may be partly done. If
   * the body calls `lease.unlock()`, the lock is freed. If the thread still has another hold, the lock is not kept, and `release-failed` is
   * published.
   * @throws the errors of `lock`; TypeError, with `keepForMs`, if the lock cannot be kept or the caller already has it: the body does not
   * run
   * @example await lock.using({ waitMs: 5_000 }, (lease) => charge(order, { signal: lease.signal }));
   */
  using<T>(body: (lease: L) => T | Promise<T>): Promise<T>;
  using<T>(options: LockOptions & UnlockOptions, body: (lease: L) => T | Promise<T>): Promise<T>;

  /**
   * Runs a body under the lock if it is free, by default without waiting, and releases it afterwards.
   * @returns whether the body ran, and its result
   * @throws the errors of `using` except WaitTimeoutError
   * @example const { ran, value } = await lock.tryUsing(() => load());
   */
  tryUsing<T>(body: (lease: L) => T | Promise<T>): Promise<Tried<T>>;
  tryUsing<T>(options: LockOptions & UnlockOptions, body: (lease: L) => T | Promise<T>): Promise<Tried<T>>;

  /**
   * Releases the innermost hold of the given thread or, inside `asThread`, of the current one. Elsewhere, release a hold through its lease.
   * @throws NotHeldError
   * @example
   * const { threadId } = await lock.lock();
   * await lock.unlock(threadId);
   */
  unlock(threadId?: number): Promise<void>;

  /**
   * Frees the lock from any holder and notifies its waiters. The former holder's lease is then lost.
   * @returns false when it was free
   * @example if (await lock.forceUnlock()) log.warn(`freed ${lock.name}`);
   */
  forceUnlock(): Promise<boolean>;

  /**
   * Whether the lock is held, by this or any other client.
   * @example const isBusy = await lock.isLocked();
   */
  isLocked(): Promise<boolean>;

  /**
   * Whether a scope around the caller holds the lock.
   * @example await lock.using(() => lock.isHeldByCurrentThread()); // true
   */
  isHeldByCurrentThread(): Promise<boolean>;

  /**
   * Whether a thread of this client holds the lock.
   * @example
   * const { threadId } = await lock.lock();
   * await lock.isHeldByThread(threadId); // true
   */
  isHeldByThread(threadId: number): Promise<boolean>;

  /**
   * How often the given or the current thread holds the lock, as counted in Redis; 0 when it does not.
   * @example await lock.using(() => lock.getHoldCount()); // 1
   */
  getHoldCount(threadId?: number): Promise<number>;

  /**
   * Milliseconds until the lock expires; -2 when it is free, -1 when its key has no TTL.
   * @example const ttlMs = await lock.remainTimeToLive();
   */
  remainTimeToLive(): Promise<number>;
}
