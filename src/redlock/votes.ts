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
import type { Member, RedlockClient } from "./clients.js";
import { type ExecutionStats, ResourceLockedError } from "./errors.js";

/** What the clients have said to one operation. */
export class Votes {
  readonly #members: readonly Member[];
  readonly #resources: number;
  readonly #for = new Set<RedlockClient>();
  readonly #against = new Map<RedlockClient, Error>();

  constructor(members: readonly Member[], resources: number) {
    this.#members = members;
    this.#resources = resources;
  }

  /** One operation: it is not tried again and again. */
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

  /** Whether those that are against only have the lock no more. */
  get areOver(): boolean {
    const isOver = (error: Error) => error instanceof NotHeldError || error instanceof LeaseLostError;
    return this.#for.size + this.errors.filter(isOver).length >= this.#quorum;
  }

  for({ client }: Member): void {
    this.#for.add(client);
  }

  against({ client }: Member, error: unknown): void {
    this.#against.set(client, types.isNativeError(error) ? error : new Error(String(error)));
  }

  /** @param value the holders of all that was had */
  succeed(value: string): void {
    for (const member of this.#members) {
      if (value.includes(member.holdfast.clientId)) this.for(member);
      else
        this.against(
          member,
          new Error("it has not given its lock in the time that a red lock waits for each server"),
        );
    }
  }

  /** @returns false for what the caller did wrong */
  fail(error: unknown): boolean {
    if (!isOfServers(error)) return false;
    const causes = error instanceof QuorumError ? error.failures : [error];
    for (const member of this.#members) this.against(member, this.#causeFor(member, causes));
    return true;
  }

  get #quorum(): number {
    return Math.floor(this.#members.length / 2) + 1;
  }

  #causeFor({ server }: Member, causes: readonly unknown[]): unknown {
    const cause = causes.find((each) => each instanceof UnavailableError && each.server === server);
    if (cause !== undefined) return cause;
    const common = causes.find((each) => !(each instanceof UnavailableError));
    const isLocked = common === undefined || common instanceof WaitTimeoutError || isHeldByRedlock(common);
    return isLocked ? this.#locked() : common;
  }

  #locked(): ResourceLockedError {
    return new ResourceLockedError(
      `The operation was applied to: 0 of the ${this.#resources} requested resources.`,
    );
  }
}

/** A real redlock keeps its locks as strings under the same names. */
export function isHeldByRedlock(error: unknown): boolean {
  if (error instanceof QuorumError) return error.failures.some(isHeldByRedlock);
  return error instanceof WrongTypeError && error.type === "string";
}

function isOfServers(error: unknown): boolean {
  if (isHeldByRedlock(error)) return true;
  const kinds = [
    ClientClosedError,
    WaitTimeoutError,
    UnavailableError,
    NotReplicatedError,
    QuorumError,
    LeaseLostError,
    NotHeldError,
  ];
  return error instanceof HoldfastError && kinds.some((type) => error instanceof type);
}
