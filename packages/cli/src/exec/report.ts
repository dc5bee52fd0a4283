import { closeSync, openSync, writeSync } from "node:fs";
import { mistake } from "../failure.js";
import type { Ending } from "./command-process.js";

/** The content of `--report`, as one line of JSON. */
export interface Report {
  /**
   * - `exited`: the command has ended, and the lock was held until then.
   * - `lost`: the lock was lost, and the command was stopped.
   * - `conflict`: the lock was not acquired in time.
   * - `cancelled`: a signal ended the wait.
   * - `not-started`: the command was not found, or can not be executed.
   * - `failed`: Redis could not be reached, or has refused a command, or there is a bug.
   */
  readonly outcome: "exited" | "lost" | "conflict" | "cancelled" | "not-started" | "failed";
  readonly exitCode: number;
  readonly name: string;
  /** `<client id>:<thread id>`; null, like `token` and `heldMs`, if the lock was not acquired. */
  readonly holder: string | null;
  /** The token of a fenced lock. */
  readonly token: string | null;
  /** Whole milliseconds from the first attempt to get the lock to its acquisition, or to the end of the wait. */
  readonly waitedMs: number;
  readonly heldMs: number | null;
  readonly child: Ending | null;
  /** A word for the reason of a loss, the name of a signal that ended the wait, or a message about a failure; null without these. */
  readonly reason: string | null;
}

/** A file for one report. It is opened before any other work, so that a wrong path fails at once. */
export class ReportFile {
  readonly #descriptor: number | undefined;

  /** @throws Failure if the file cannot be written */
  constructor(path: string | undefined) {
    try {
      this.#descriptor = path === undefined ? undefined : openSync(path, "w");
    } catch (error) {
      throw mistake(`--report: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Writes the report, and closes the file. @throws the system's error */
  write(report: Report): void {
    if (this.#descriptor === undefined) return;
    try {
      writeSync(this.#descriptor, `${JSON.stringify(report)}\n`);
    } finally {
      closeSync(this.#descriptor);
    }
  }
}
