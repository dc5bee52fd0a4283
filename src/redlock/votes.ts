import { types } from "node:util";
import {
  ClientClosedError,
  HoldfastError,
  LeaseLostError,
  NotHeldError,
  NotReplicatedError,
  QuorumError,
  UnavailableError,
  WaitTimeoutError,
  WrongTypeError,
} from "../index.js";
import { isOver as isEnded } from "../runtime/command-failures.js";
import type { RedlockClient, RedlockMember } from "./clients.js";
import { type ExecutionStats, ResourceLockedError } from "./errors.js";

/** The answers of the clients to one operation. */
export class Votes {
  readonly #members: readonly RedlockMember[];
  readonly #resources: number;
  readonly #for = new Set<RedlockClient>();
  readonly #against = new Map<RedlockClient, Error>();

  constructor(members: readonly RedlockMember[], resources: number) {
    this.#members = members;
    this.#resources = resources;
  }

  /** Always one attempt: an operation is not retried. */
  get attempts(): readonly Promise<ExecutionStats>[] {
    const membershipSize = this.#members.length;
    const stats = {
      membershipSize,
      quorumSize: this.#quorum,
      votesFor: this.#for,
      votesAgainst: this.#against,
    };
    return [Promise.resolve(stats)];
  }

  get errors(): readonly Error[] {
    return [...this.#against.values()];
  }

  get isQuorum(): boolean {
    return this.#for.size >= this.#quorum;
  }

  /** Whether a majority of the clients voted for, or no longer has the lock. */
  get areOver(): boolean {
    return this.#for.size + this.errors.filter(isOver).length >= this.#quorum;
  }

  for({ client }: RedlockMember): void {
    this.#for.add(client);
  }

  against({ client }: RedlockMember, error: unknown): void {
    this.#against.set(client, types.isNativeError(error) ? error : new Error(String(error)));
  }

  /** @param value the holders of all acquired resources */
  succeed(value: string): void {
    for (const member of this.#members) {
      if (this.#resources === 0 || value.includes(member.holdfast.clientId)) this.for(member);
      else
        this.against(
          member,
          new Error("it did not grant its lock in the time that a red lock waits for each server"),
        );
    }
  }

  /** @returns false for a mistake of the caller */
  fail(error: unknown): boolean {
    if (error instanceof QuorumError) this.#failAll(error);
    else if (!isOfServers(error)) return false;
    else for (const member of this.#members) this.against(member, this.#causeOf(error));
    return true;
  }

  /** The lock to extend has ended. Like redlock, reports a key that is gone from Redis as locked. */
  lose(error: unknown): void {
    const isGone = error instanceof LeaseLostError && ["stolen", "expired"].includes(error.reason);
    const cause = isGone || error instanceof NotHeldError ? this.#locked(error) : error;
    for (const member of this.#members) this.against(member, cause);
  }

  get #quorum(): number {
    return Math.floor(this.#members.length / 2) + 1;
  }

  #failAll({ acquired, failures }: QuorumError): void {
    /** These errors do not name their server. */
    const others = failures.filter((each) => !(each instanceof UnavailableError));
    const isLocked = acquired + failures.length < this.#members.length;
    for (const member of this.#members) {
      const cause =
        failures.find((each) => each instanceof UnavailableError && each.server === member.server) ??
        others.shift();
      if (cause !== undefined) this.against(member, this.#causeOf(cause));
      else if (isLocked) this.against(member, this.#locked());
      else this.for(member);
    }
  }

  #causeOf(error: unknown): unknown {
    return error instanceof WaitTimeoutError || isHeldByRedlock(error) ? this.#locked(error) : error;
  }

  #locked(cause?: unknown): ResourceLockedError {
    return new ResourceLockedError(
      `The operation was applied to: 0 of the ${this.#resources} requested resources.`,
      { cause },
    );
  }
}

/** A real redlock keeps its locks as strings under the same names. */
export function isHeldByRedlock(error: unknown): boolean {
  return error instanceof WrongTypeError && error.type === "string";
}

/** Whether redlock would ask again, because the holder's release sends no message, or because the server may recover. */
export function mayPass(error: unknown): boolean {
  if (error instanceof QuorumError) return error.failures.some(mayPass);
  if (error instanceof UnavailableError) return !isEnded(error);
  return isOfServers(error) && !(error instanceof WaitTimeoutError || error instanceof ClientClosedError);
}

/** Whether a vote is about the lock, not about the server. */
export function isAboutLock(error: unknown): boolean {
  return error instanceof ResourceLockedError || isOver(error);
}

function isOver(error: unknown): boolean {
  return error instanceof NotHeldError || error instanceof LeaseLostError;
}

function isOfServers(error: unknown): boolean {
  const kinds = [
    ClientClosedError,
    WaitTimeoutError,
    WrongTypeError,
    UnavailableError,
    NotReplicatedError,
    QuorumError,
    LeaseLostError,
    NotHeldError,
  ];
  return error instanceof HoldfastError && kinds.some((type) => error instanceof type);
}
