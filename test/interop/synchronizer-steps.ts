import { semaphoreChannel } from "../../src/protocol/names.js";
import type { RecordedKeys } from "../support/jvm/records.js";
import type { RedissonSynchronizerName } from "../support/jvm/redisson.js";
import type { RecordedStep } from "../support/jvm/synchronizer-records.js";
import type { CallOptions, Method } from "../support/jvm/synchronizer-user.js";
import type { Actor } from "./scenarios.js";

/** What is nobody's doing. */
export type Happening =
  /** The time has come for all permits that expire. */
  | "leases end"
  /** The semaphore has a time to live. */
  | "is to end"
  /** The permits that are available are gone, those that are taken are there. */
  | "is gone";

export function isHappening(does: SynchronizerStep["does"]): does is Happening {
  return does === "leases end" || does === "is to end" || does === "is gone";
}

/** One thing that somebody does. */
export interface SynchronizerStep extends CallOptions {
  readonly by: Actor;
  readonly does:
    | Method
    /** Asks for permits, or for the end of a count, with the time to wait or without a limit, and has to wait. */
    | "waits"
    /** What it waited for has come, or the time for that has run out. */
    | "is answered"
    | Happening;
  readonly on: RedissonSynchronizerName;
  /** What comes of it otherwise when one of ours does it. */
  readonly ours?: Difference;
}

/** Where we decide otherwise than Redisson. */
export interface Difference extends Partial<Pick<RecordedStep, "answer" | "messages" | "keys">> {
  /** The row in docs/reference/redisson-differences.md that says so. */
  readonly row: string;
}

export interface SynchronizerScenario {
  readonly title: string;
  /** The first release of Redisson that does so. Default: all that are tested. */
  readonly since?: string;
  readonly steps: readonly SynchronizerStep[];
}

export const HOUR_MS = 3_600_000;
/** Long enough to be seen waiting. */
export const SHORT_MS = 1_000;
export const NAME = "order:7";

/** A step, and what comes of it otherwise when one of ours does it. */
export type Does = (
  does: SynchronizerStep["does"],
  options?: CallOptions,
  ours?: Difference,
) => SynchronizerStep;

/** Those who use the semaphore or the latch of a scenario. */
export function actors(kind: RedissonSynchronizerName["kind"]): Readonly<Record<"a" | "b" | "c", Does>> {
  const who =
    (by: Actor): Does =>
    (does, options = {}, ours) => ({
      by,
      does,
      on: { kind, name: NAME },
      ...options,
      ...(ours === undefined ? {} : { ours }),
    });
  return { a: who("A"), b: who("B"), c: who("C") };
}

/** How many permits are available when a step is done. */
export function holds(available: number, ttlMs = -1): RecordedKeys {
  return { [NAME]: { type: "string", value: String(available), ttlMs } };
}

/** The row about what drops a TTL, or a debt. */
export const CHANGES = "Adding and draining";

/** Ours tells nobody. */
export const untold: Difference = { row: "Messages to waiters", messages: [] };

/** Ours tells of so many permits. */
export function told(available: number): Difference {
  return { ...untold, messages: [`${available} -> ${semaphoreChannel(NAME)}`] };
}
