import type { Client } from "../client.js";
import type { Reentry } from "../options.js";
import type { Script } from "../protocol/define-script.js";
import type { LockRecord } from "../protocol/inspect-scripts.js";
import type { AcquireAnswer, AcquireCall } from "../protocol/lock-calls.js";
import type { HeldKind } from "../threads/held.js";
import type { Stay } from "../threads/stay.js";
import type { WayOfWaiting } from "./way-of-waiting.js";
import type { Wish } from "./wish.js";

/** All in which one kind of lock differs from another. See docs/decisions/010-a-kind-is-a-description.md. */
export interface LockKind extends HeldKind {
  readonly acquire: Script<AcquireCall, readonly AcquireAnswer[]>;
  /** Where its waiters listen. */
  channel(key: string): string;
  /** Whether a thread that has it may take it again. */
  readonly reentrant: boolean;
  /** Whether each acquisition draws a fencing token. */
  readonly fenced: boolean;
  /** Which lock of a read-write pair it is; undefined for a lock of its own. */
  readonly half: Half | undefined;
  /** Whether Redis records each waiter, so that one that gives up has to be taken out. */
  readonly recordsWaiters: boolean;
  /** Whether the clients that wait for it stand in a queue in Redis. */
  readonly queues: boolean;
  /** Whether one call of a client may hand it to the next without freeing it. */
  readonly handsOver: boolean;
  /** A waiter asks again after so many milliseconds at the latest, where the client's safety period is longer. */
  readonly asksEachMs?: number;
  /** Begins the wait of a call that may wait for the first hold of a stay. The call ends it by `leave`. */
  wait(part: Part): WayOfWaiting;
  /** Whether the stored record shows a holder. */
  isHeld(record: LockRecord): boolean;
  /** Whether there is something to free by force. */
  isForceable(record: LockRecord): boolean;
}

/** The two locks of a pair are one key: readers exclude writers. */
export type Half = "read" | "write";

/** One lock of one client. */
export interface LockIdentity {
  readonly client: Client;
  readonly kind: LockKind;
  /** The name that the program uses. */
  readonly name: string;
  /** The key in Redis. */
  readonly key: string;
  /** Tells the locks of a client apart, also those of one key. */
  readonly id: string;
  /** The id of the other lock of the pair; undefined for a lock of its own. */
  readonly otherId: string | undefined;
  /** Where its waiters listen. */
  readonly channel: string;
  /** As its kind says. */
  readonly queues: boolean;
  readonly reentry: Reentry;
}

/** One lock that is asked for, and the stay that is to have it. */
export interface Part {
  readonly lock: LockIdentity;
  readonly stay: Stay;
  readonly wish: Wish;
}

/** Tells the locks of one key apart. Locks that exclude each other have the same id, except for the two of a read-write pair. */
export function lockId(half: Half | undefined, key: string): string {
  return `${half ?? ""}:${key}`;
}

/** The ids of all locks that a key can be. */
export function lockIds(key: string): readonly string[] {
  return [lockId(undefined, key), lockId("read", key), lockId("write", key)];
}

/** The id of the other lock of the pair; undefined for a lock of its own. */
export function otherHalfId(half: Half | undefined, key: string): string | undefined {
  return half === undefined ? undefined : lockId(half === "read" ? "write" : "read", key);
}
