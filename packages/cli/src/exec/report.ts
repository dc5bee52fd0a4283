import { closeSync, openSync, writeSync } from "node:fs";
import { mistake } from "../failure.js";
import type { Ending } from "./command-process.js";

/** What `--report` writes, as one line of JSON. */
export interface Report {
  /**
   * - `exited`: the command has ended, and the lock was held until then.
   * - `lost`: the lock was lost, and the command was stopped.
   * - `conflict`: the lock was not acquired in time.
   * - `cancelled`: a signal ended the wait.
   * - `not-started`: the command was not found, or can not be executed.
   * - `failed`: Redis could not be reached or refused, or there is a bug.
   */
  readonly outcome: "exited" | "lost" | "conflict" | "cancelled" | "not-started" | "failed";
  readonly exitCode: number;
  readonly name: string;
  /** `<client id>:<thread id>`; null where the lock was not acquired, as those below. */
  readonly holder: string | null;
  /** Of a fenced lock. */
  readonly token: string | null;
  /** Whole milliseconds from the first question to the lock, or to the end of the wait. */
  readonly waitedMs: number;
  readonly heldMs: number | null;
  readonly child: Ending | null;
  /** Why it was lost, or has failed, in words for programs or for people; null where all went well. */
  readonly reason: string | null;
}

/** A file for one report, opened before anything is done, so that a wrong path is told at once. */
export class ReportFile {
  readonly #descriptor: number | undefined;

  /** @throws Failure when it can not be written */
  constructor(path: string | undefined) {
    try {
      this.#descriptor = path === undefined ? undefined : openSync(path, "w");
    } catch (error) {
      throw mistake(`--report: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Writes it, and closes the file. @throws what the system says */
  write(report: Report): void {
    if (this.#descriptor === undefined) return;
    try {
      writeSync(this.#descriptor, `${JSON.stringify(report)}\n`);
    } finally {
      closeSync(this.#descriptor);
    }
  }
}
