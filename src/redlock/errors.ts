import type { RedlockClient } from "./clients.js";

/** What the clients have said to one attempt. */
export interface ExecutionStats {
  /** How many clients were asked. */
  readonly membershipSize: number;
  /** How many of them make a majority. */
  readonly quorumSize: number;
  readonly votesFor: Set<RedlockClient>;
  readonly votesAgainst: Map<RedlockClient, Error>;
}

/** What `release` resolves with. */
export interface ExecutionResult {
  /** One: calls wait to be told, and do not ask again and again. */
  readonly attempts: readonly Promise<ExecutionStats>[];
}

/** Somebody else has the resource, or at least one of several. As redlock 5 has it. */
export class ResourceLockedError extends Error {
  override readonly name = "ResourceLockedError";
}

/** An operation was not possible on a majority of the clients. As redlock 5 has it. */
export class ExecutionError extends Error {
  override readonly name: string = "ExecutionError";
  readonly attempts: readonly Promise<ExecutionStats>[];

  /** @param attempts empty where nothing was asked */
  constructor(message: string, attempts: readonly Promise<ExecutionStats>[] = []) {
    super(message);
    this.attempts = attempts;
  }
}

/** What the methods of redlock 4 reject with: `lock`, `unlock`, and those of a lock that came from `lock`. */
export class LockError extends ExecutionError {
  override readonly name = "LockError";
}

/** @throws the error, as redlock 4 has it */
export function asLockError(error: unknown): never {
  throw error instanceof ExecutionError ? new LockError(error.message, error.attempts) : error;
}
