import type { HoldfastOptions } from "../../../src/client-options.js";
import type { Holdfast } from "../../../src/holdfast.js";
import type { Lock } from "../../../src/locks/lock.js";
import type { OpenBackend } from "../../support/servers/backends.js";

/** What a behaviour takes for granted, and not every kind of lock has. */
export type Need =
  | "exclusion"
  | "re-entry"
  | "order"
  | "a turn"
  | "polling"
  | "tokens"
  | "all of several"
  | "a majority";

/** What locks do, whatever their kind. A plain value, which any runner can run. */
export interface Behaviour {
  /** To the user. */
  readonly promise: string;
  readonly needs?: Need;
  /** Whether a Redis client or a topology can spoil it. Default: false. */
  readonly hangsOnDrivers?: true;
  run(scene: Scene): Promise<void>;
}

/** One kind of lock on one server. */
export interface Scene {
  readonly server: OpenBackend;
  /** A client of its own. */
  client(options?: HoldfastOptions): Holdfast;
  /** The lock of this name. */
  lock(client: Holdfast, name?: string): Lock;
  /** A lock that keeps the one of this name out while it is held. */
  obstacle(client: Holdfast, name?: string): Lock;
  /** One of the locks that it is made of. */
  member(client: Holdfast, name?: string): Lock;
  /** Resolves when the call that a client has just made was refused, and waits. */
  waits(client: Holdfast): Promise<void>;
  /** How many subscriptions a client has asked for. */
  subscriptions(client: Holdfast): number;
}

/** Behaviours of one subject. */
export interface Chapter {
  readonly title: string;
  readonly behaviours: readonly Behaviour[];
}
