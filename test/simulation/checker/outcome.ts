import type { HistoryLine } from "./history.js";

/** A promise of ours, by what it is about. */
export type Rule =
  | "exclusion"
  | "order"
  | "truth"
  | "progress"
  | "leftovers"
  | "conservation"
  | "cost"
  | "world";

/** A promise that was not kept. */
export interface Violation {
  readonly rule: Rule;
  readonly text: string;
  /** Virtual time, in microseconds since the run began. */
  readonly atUs: number;
}

export interface Stats {
  /** Script calls that reached a server. */
  readonly commands: number;
  readonly kinds: readonly string[];
  /** By sort: how many hit something under way. */
  readonly faults: Readonly<Record<string, number>>;
  /** Short digests of what was stored and believed, after each script call that changed it. */
  readonly states: readonly string[];
  /** How long after the last fault somebody still waited, in milliseconds. */
  readonly longestWaitMs: number;
  /** By name: how often something was seen that is documented as possible. */
  readonly exceptions: Readonly<Record<string, number>>;
}

/** What a run has brought. */
export interface Outcome {
  /** Empty when all promises were kept. */
  readonly violations: readonly Violation[];
  /** Of the whole history. */
  readonly digest: string;
  readonly history: readonly HistoryLine[];
  readonly stats: Stats;
}
