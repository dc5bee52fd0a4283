import type { RedlockClient } from "./clients.js";

/** The answers of the clients to one attempt. */
export interface ExecutionStats {
  /** How many clients were asked. */
  readonly membershipSize: number;
  /** How many of them make a majority. */
  readonly quorumSize: number;
  readonly votesFor: Set<RedlockClient>;
  readonly votesAgainst: Map<RedlockClient, Error>;
}

/** The vote of one client. Like redlock 5, for programs that name the type. */
export type ClientExecutionResult =
  | { client: RedlockClient; vote: "for"; value: number }
  | { client: RedlockClient; vote: "against"; error: Error };

/** The result of `release`. */
export interface ExecutionResult {
  /** Always one attempt, because calls wait for a message instead of polling. */
  readonly attempts: readonly Promise<ExecutionStats>[];
}

/** Another caller has a resource of the call, or the lock to extend has ended. Like redlock 5. */
export class ResourceLockedError extends Error {
  override readonly name = "ResourceLockedError";

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    showMessage(this);
  }
}

/** An operation was not possible on a majority of the clients. Like redlock 5. */
export class ExecutionError extends Error {
  override readonly name = "ExecutionError";
  readonly attempts: readonly Promise<ExecutionStats>[];

  /** @param attempts empty if no client was asked */
  constructor(message: string, attempts: readonly Promise<ExecutionStats>[] = [], options?: ErrorOptions) {
    super(message, options);
    showMessage(this);
    this.attempts = attempts;
  }
}

/** The error of the methods of redlock 4 and of its locks. Its cause is the ExecutionError with the votes. */
export class LockError extends Error {
  override readonly name = "LockError";
  /** 0 if the lock to extend had expired, otherwise 1; undefined for a release. */
  readonly attempts: number | undefined;

  constructor(message = "Failed to lock the resource.", attempts?: number, options?: ErrorOptions) {
    super(message, options);
    this.attempts = attempts;
  }
}

/** @returns a function that throws a failure like redlock 4, and any other error unchanged */
export function asLockError(message: string, attempts?: number): (error: unknown) => never {
  return (error) => {
    throw error instanceof ExecutionError ? new LockError(message, attempts, { cause: error }) : error;
  };
}

/** Enumerable, like redlock's: JSON and loggers show it. */
function showMessage(error: Error): void {
  Object.defineProperty(error, "message", { enumerable: true });
}
