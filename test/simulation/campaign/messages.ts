import type { Stats } from "../outcome.js";
import type { Failure } from "./failure.js";

/** What the coordinator tells a worker. */
export type Order =
  | { readonly seeds: readonly [first: number, count: number]; readonly only?: readonly string[] }
  /** Looks for a smaller schedule that breaks the same promise. */
  | { readonly shrink: Failure; readonly seconds: number };

/** What a worker tells the coordinator. */
export type Report =
  | Finished
  | { readonly shrinking: number }
  | { readonly shrunk: Failure; readonly tries: number }
  | { readonly memory: Memory };

export interface Finished {
  /** The seed. */
  readonly finished: number;
  readonly digest: string;
  readonly stats: Stats;
  /** Only where a promise was not kept. */
  readonly failure?: Failure;
}

/** A census of a worker's process, after a collection. */
export interface Memory {
  readonly heapBytes: number;
  readonly residentBytes: number;
  /** Timers, sockets and the like that Node keeps for it. */
  readonly resources: number;
}
