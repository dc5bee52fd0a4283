import type { LossReason } from "../errors.js";
import type { AboutClient } from "../events.js";
import type { Script } from "../protocol/define-script.js";
import type { ReleaseAnswer, ReleaseCall } from "../protocol/lock-calls.js";

/** The lock that is held. */
export interface Held {
  readonly client: { readonly about: AboutClient };
  readonly name: string;
  readonly key: string;
  readonly id: string;
  readonly channel: string;
  /** Whether the clients that wait for the lock have a queue in Redis. */
  readonly queues: boolean;
  readonly kind: HeldKind;
}

export interface HeldKind {
  /** The name in events and errors. */
  readonly name: string;
  /** The suffix of a field of the lock, after the holder. */
  readonly fieldEnding: string;
  /** Whether several owners may hold the lock at once, each hold with its own lease. */
  readonly shared: boolean;
  readonly release: Script<ReleaseCall, readonly ReleaseAnswer[]>;
  /** Ends the last hold of a stay but keeps the key for a while; undefined if not supported. */
  readonly keep: Script<ReleaseCall, readonly ReleaseAnswer[]> | undefined;
  /**
   * For a lock with a queue of clients in Redis: called when this client has lost or forgotten the lock, so that no release of this client
   * looks into the queue.
   */
  leaveQueue?(lock: Held): void;
}

/** The subject of messages and events about a hold. */
export interface Subject extends AboutClient {
  readonly name: string;
  /** The kind of lock or semaphore, with the name that its factory method has. */
  readonly kind: string;
  /** The holder, as stored in Redis. */
  readonly holder: string;
}

/** Called for each lost hold. */
export type TellLoss = (of: { readonly key: string; readonly kind: string }, reason: LossReason) => void;

export type HoldState = "held" | "released" | "lost";
