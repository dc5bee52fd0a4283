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

/** The vote of one client. As redlock 5 has it, for programs that name the type. */
export type ClientExecutionResult =
  | { client: RedlockClient; vote: "for"; value: number }
  | { client: RedlockClient; vote: "against"; error: Error };

/** What `release` resolves with. */
export interface ExecutionResult {
  /** One: calls wait to be told, and do not ask again and again. */
  readonly attempts: readonly Promise<ExecutionStats>[];
}

/** Another caller has the resource, or at least one of several; or the lock to extend has ended. As redlock 5 has it. */
export class ResourceLockedError extends Error {
  override readonly name = "ResourceLockedError";

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    showMessage(this);
  }
}

/** An operation was not possible on a majority of the clients. As redlock 5 has it. */
export class ExecutionError extends Error {
  override readonly name = "ExecutionError";
  readonly attempts: readonly Promise<ExecutionStats>[];

  /** @param attempts empty where nothing was asked */
  constructor(message: string, attempts: readonly Promise<ExecutionStats>[] = [], options?: ErrorOptions) {
    super(message, options);
    showMessage(this);
    this.attempts = attempts;
  }
}

/** What the methods of redlock 4 reject with, and those of its locks. Its cause is the ExecutionError, which has the votes. */
export class LockError extends Error {
  override readonly name = "LockError";
  /** One for a resource that was requested, 0 for any other; undefined for a release. */
  readonly attempts: number | undefined;

  constructor(message = "Failed to lock the resource.", attempts?: number, options?: ErrorOptions) {
    super(message, options);
    this.attempts = attempts;
  }
}

/** @returns what throws a failure as redlock 4 does, and everything else as it is */
export function asLockError(message: string, attempts?: number): (error: unknown) => never {
  return (error) => {
    throw error instanceof ExecutionError ? new LockError(message, attempts, { cause: error }) : error;
  };
}

/** Enumerable, as redlock has it: JSON and loggers show it. */
function showMessage(error: Error): void {
  Object.defineProperty(error, "message", { enumerable: true });
}
