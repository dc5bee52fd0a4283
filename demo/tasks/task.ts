import type { Holdfast } from "holdfast";

/** What a worker tells about its work while it is at it. */
export type Note =
  /** It is about to ask for the lock. */
  | { readonly what: "asking" }
  | {
      readonly what: "entered";
      readonly holder: string;
      readonly holdCount: number;
      /** On the machine's clock: nobody else may enter before, whatever becomes of the worker. */
      readonly trustedUntilMs: number;
    }
  /** It is done and about to release. */
  | { readonly what: "leaving" }
  | { readonly what: "step"; readonly step: number }
  | { readonly what: "branch-asking" | "branch-entered" | "branch-leaving"; readonly branch: number }
  /** Its lease has this fencing token. */
  | { readonly what: "token"; readonly token: number }
  | { readonly what: "write"; readonly left: number; readonly accepted: boolean }
  /** The signal of its lease aborted. */
  | { readonly what: "lost"; readonly code: string; readonly reason: string; readonly message: string }
  /** The id of its client. */
  | { readonly what: "client"; readonly id: string }
  /** A call was refused. */
  | { readonly what: "refused"; readonly code: string; readonly message: string };

/** A note with the time on the machine's clock. */
export type Report = Note & { readonly atMs: number };

export type ReportOf<What extends Note["what"]> = Extract<Report, { readonly what: What }>;

/** The counter that all workers share. */
export interface Stock {
  read(): Promise<number>;
  write(left: number): Promise<void>;
  /** Refuses a token that is smaller than one that it has seen. @returns whether it has written */
  writeFenced(left: number, token: bigint): Promise<boolean>;
}

/** What a task works with, in whichever process it runs. */
export interface Workplace {
  readonly holdfast: Holdfast;
  readonly stock: Stock;
  note(note: Note): void;
  /** Waits until the scene says to go on. */
  told(): Promise<void>;
}

export type Task<Input, Result> = (workplace: Workplace, input: Input) => Promise<Result>;

/** No worker waits longer for a lock, so that a demo that goes wrong still ends. */
export const PATIENCE_MS = 60_000;
