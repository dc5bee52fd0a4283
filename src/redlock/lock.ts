import { refuseCallback } from "./arguments.js";
import type { ExecutionResult, ExecutionStats } from "./errors.js";

/** The members of a Redlock that its locks use. */
export interface ReleasingRedlock {
  release(lock: RedlockLock): Promise<ExecutionResult>;
  extend(lock: RedlockLock, durationMs: number): Promise<RedlockLock>;
  unlock(lock: RedlockLock): Promise<void>;
}

/** Locked resources. A lock can be rebuilt from its parts, even in another process, and released there. Like redlock 5. */
export class RedlockLock {
  /** The name in logs, as in redlock. */
  static readonly name: string = "Lock";
  readonly redlock: ReleasingRedlock;
  readonly resources: string[];
  /** The holder as stored in Redis; for several resources or clients, all holders. */
  readonly value: string;
  readonly attempts: readonly Promise<ExecutionStats>[];
  /** Until when the lock may be trusted, in milliseconds since the Unix epoch; 0 once it was released or extended. */
  expiration: number;

  constructor(
    redlock: ReleasingRedlock,
    resources: string[],
    value: string,
    attempts: readonly Promise<ExecutionStats>[],
    expiration: number,
  ) {
    this.redlock = redlock;
    this.resources = resources;
    this.value = value;
    this.attempts = attempts;
    this.expiration = expiration;
  }

  /**
   * @see Redlock.release
   * @example await lock.release();
   */
  async release(): Promise<ExecutionResult> {
    return this.redlock.release(this);
  }

  /**
   * @see Redlock.extend
   * @example const extended = await lock.extend(5_000);
   */
  async extend(durationMs: number, ...callback: readonly unknown[]): Promise<RedlockLock> {
    refuseCallback(callback[0], "lock.extend(ttl)");
    return this.redlock.extend(this, durationMs);
  }

  /** Redlock 4's name for `resources`. */
  get resource(): string[] {
    return this.resources;
  }

  /**
   * Redlock 4's name for `release`.
   * @example await lock.unlock();
   */
  async unlock(...callback: readonly unknown[]): Promise<void> {
    refuseCallback(callback[0], "lock.unlock()");
    await this.redlock.unlock(this);
  }
}

/** A lock of redlock 4: an extension changes the lock itself, and failures are LockErrors. */
export class ChangingLock extends RedlockLock {
  extendedAs({ expiration }: RedlockLock): this {
    this.expiration = expiration;
    return this;
  }
}
