/** What is left of a schedule that was played. */
export interface Outcome {
  /** Empty when all promises were kept. */
  readonly violations: readonly Violation[];
  /** Of the whole history, to compare two runs. */
  readonly digest: string;
  /** With `trace` each script call comes with the keys before and after it. */
  readonly history: readonly HistoryLine[];
  readonly stats: Stats;
}

/** Which promise was not kept; "world": the simulator itself was at fault, or the run read what is real. */
export type Rule =
  | "exclusion"
  | "order"
  | "truth"
  | "progress"
  | "leftovers"
  | "conservation"
  | "cost"
  | "world";

export interface Violation {
  readonly rule: Rule;
  readonly text: string;
  readonly atUs: number;
}

export interface HistoryLine {
  readonly atUs: number;
  /** A process, a server, or the world: "p0", "jvm0", "s0", "world". */
  readonly column: string;
  readonly text: string;
}

export interface Stats {
  /** Script calls that reached a server. */
  readonly commands: number;
  /** Kinds of lock and synchronizer that this schedule used. */
  readonly kinds: readonly string[];
  /** How many faults of each sort hit a command under way. */
  readonly faults: Readonly<Record<string, number>>;
  /** Short digests of keyspace and beliefs. */
  readonly states: readonly string[];
  /** The longest that a call waited once the faults had stopped. */
  readonly longestWaitMs: number;
  /** Documented exceptions that were seen, by name. */
  readonly exceptions: Readonly<Record<string, number>>;
}
