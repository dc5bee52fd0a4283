import type { Client } from "../client.js";
import type { Reentry } from "../options.js";
import type { Script } from "../protocol/define-script.js";
import type { LockRecord } from "../protocol/inspect-scripts.js";
import type { AcquireAnswer, AcquireCall } from "../protocol/lock-calls.js";
import type { HeldKind } from "../threads/held.js";
import type { Stay } from "../threads/stay.js";
import type { WayOfWaiting } from "./way-of-waiting.js";
import type { Wish } from "./wish.js";

/** Everything in which one kind of lock differs from another. See docs/decisions/010-a-kind-is-a-description.md. */
export interface LockKind extends HeldKind {
  readonly acquire: Script<AcquireCall, readonly AcquireAnswer[]>;
  /** The channel of its waiters. */
  channel(key: string): string;
  /** Whether a thread that holds the lock may take it again. */
  readonly reentrant: boolean;
  /** Whether each acquisition takes a fencing token. */
  readonly fenced: boolean;
  /** Which lock of a read-write pair it is; undefined for a lock that is not in a pair. */
  readonly half: Half | undefined;
  /** Whether Redis records each waiter, so that a waiter that gives up must be removed. */
  readonly recordsWaiters: boolean;
  /**
   * Whether waiting clients may have a place in a queue of clients in Redis, which a release looks into. The waiters of a kind
   * that records each waiter do not use this queue.
   */
  readonly queues: boolean;
  /** Whether a call may hand the lock to the next call of its client without freeing it. */
  readonly handsOver: boolean;
  /** A waiter asks again after at most this many milliseconds, even if the client's safety period is longer. */
  readonly asksEachMs?: number;
  /** Begins the wait of a call that may wait for the first hold of a stay. The call ends it by `leave`. */
  wait(part: Part): WayOfWaiting;
  /** Whether the stored record shows a holder. */
  isHeld(record: LockRecord): boolean;
  /** Whether there is anything to free by force. */
  isForceable(record: LockRecord): boolean;
}

/** The two locks of a read-write pair share a key, because readers exclude writers. */
export type Half = "read" | "write";

/** One lock of one client. */
export interface LockIdentity {
  readonly client: Client;
  readonly kind: LockKind;
  /** The name that the program uses. */
  readonly name: string;
  /** The key in Redis. */
  readonly key: string;
  /** Distinguishes the locks of a client, including locks that share a key. */
  readonly id: string;
  /** The id of the other lock of the pair; undefined for a lock that is not in a pair. */
  readonly otherId: string | undefined;
  /** The channel of its waiters. */
  readonly channel: string;
  /** The kind's `queues`. */
  readonly queues: boolean;
  readonly reentry: Reentry;
}

/** A lock that a call wants, and the stay that will hold it. */
export interface Part {
  readonly lock: LockIdentity;
  readonly stay: Stay;
  readonly wish: Wish;
}

/** Distinguishes locks that share a key. Locks that exclude each other have the same id, except for the two of a read-write pair. */
export function lockId(half: Half | undefined, key: string): string {
  return `${half ?? ""}:${key}`;
}

/** The ids of all locks that a key can stand for. */
export function lockIds(key: string): readonly string[] {
  return [lockId(undefined, key), lockId("read", key), lockId("write", key)];
}

/** The id of the other lock of the pair; undefined for a lock that is not in a pair. */
export function otherHalfId(half: Half | undefined, key: string): string | undefined {
  return half === undefined ? undefined : lockId(half === "read" ? "write" : "read", key);
}
