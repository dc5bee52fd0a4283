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
  /** Whether the clients that wait for it stand in a queue in Redis. */
  readonly queues: boolean;
  readonly kind: HeldKind;
}

export interface HeldKind {
  /** As events and errors call it. */
  readonly name: string;
  /** What its field has behind the holder. */
  readonly fieldEnding: string;
  /** Whether several may hold it at once, each hold with a life of its own. */
  readonly shared: boolean;
  readonly release: Script<ReleaseCall, readonly ReleaseAnswer[]>;
  /** Ends the last hold of a stay, but lets the key stay for a while; undefined where that is not possible. */
  readonly keep: Script<ReleaseCall, readonly ReleaseAnswer[]> | undefined;
  /** Where the clients that wait stand in a queue in Redis: its client has lost the lock, so that no release looks there any more. */
  leaveQueue?(lock: Held): void;
}

/** What is held, for messages and events. */
export interface Subject extends AboutClient {
  readonly name: string;
  /** As the factory calls it. */
  readonly kind: string;
  /** As stored in Redis. */
  readonly holder: string;
}

/** Hears of each hold that is lost. */
export type TellLoss = (of: { readonly key: string; readonly kind: string }, reason: LossReason) => void;

export type HoldState = "held" | "released" | "lost";
