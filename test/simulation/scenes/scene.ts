import type { HoldfastOptions } from "../../../src/client-options.js";
import type { Family } from "../workload/family.js";
import type { ResendRules } from "../world/command-link.js";
import type { FaultName } from "./deeds.js";
import type { Player } from "./player.js";

/** A few calls of a few processes, all orders of which are played. */
export interface SceneDefinition {
  readonly name: string;
  /** What is shared: the kinds that the campaign has, and "semaphore", "permit semaphore", "latch". */
  readonly kind: string;
  /** What the tasks of each process do. */
  readonly processes: readonly (readonly Task[])[];
  readonly bound: Bound;
  readonly options?: Omit<HoldfastOptions, "presence">;
  /** What the Redis client of a process does with commands when its connection is lost. Default: it sends them again. */
  readonly rules?: ResendRules;
  /** What happens before, in one order. */
  prepare?(player: Player): Promise<void>;
  /** What has to be true once all tasks have ended. @returns what is wrong */
  atEnd?(player: Player): Promise<string | undefined>;
  /** The keys whose existence says that somebody has it, where the kind is none of the campaign's. */
  readonly heldKeys?: Family["heldKeys"];
  /**
   * By when all tasks have ended, in milliseconds, in a run without faults in which no timer overtakes anything. Default: 0, as
   * nobody has to wait for a timer.
   */
  readonly promptMs?: number;
  /** By when they have ended in any case. Default: 100,000. */
  readonly latestMs?: number;
  /** Whether it is among those that `npm test` plays. */
  readonly isSmall?: boolean;
}

export type Task = (player: Player) => Promise<void>;

/** Up to where a scene is explored. */
export interface Bound {
  /** How often a timer fires although something is on its way. */
  readonly overtakes: number;
  /** How many faults there are, and of which sorts. */
  readonly faults: number;
  readonly sorts: readonly FaultName[];
}

/** The one name that all tasks of a scene fight for. */
export const NAME = "n";
