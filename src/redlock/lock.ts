import { asLockError, type ExecutionResult, type ExecutionStats } from "./errors.js";

/** What a lock needs of the Redlock that it is of. */
export interface Releasing {
  release(lock: Lock): Promise<ExecutionResult>;
  extend(lock: Lock, durationMs: number): Promise<Lock>;
}

/** Resources that are locked. May be made anew from its parts, in another process as well, to be released there. As redlock 5 has it. */
export class Lock {
  readonly redlock: Releasing;
  readonly resources: string[];
  /** The holder as stored in Redis, of several resources or clients all of them. */
  readonly value: string;
  readonly attempts: readonly Promise<ExecutionStats>[];
  /** Until when the lock may be trusted, in milliseconds since the Unix epoch; 0 once it is released or was extended. */
  expiration: number;

  constructor(
    redlock: Releasing,
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

  /** @see Redlock.release */
  async release(): Promise<ExecutionResult> {
    return this.redlock.release(this);
  }

  /** @see Redlock.extend */
  async extend(durationMs: number): Promise<Lock> {
    return this.redlock.extend(this, durationMs);
  }

  /** As redlock 4 calls them. */
  get resource(): string[] {
    return this.resources;
  }

  /** As redlock 4 calls `release`. */
  async unlock(): Promise<void> {
    await this.release();
  }
}

/** A lock of redlock 4, whose `extend` changes it. */
export class ChangingLock extends Lock {
  override async extend(durationMs: number): Promise<Lock> {
    const { expiration } = await super.extend(durationMs).catch(asLockError);
    this.expiration = expiration;
    return this;
  }

  override async unlock(): Promise<void> {
    await super.unlock().catch(asLockError);
  }
}
