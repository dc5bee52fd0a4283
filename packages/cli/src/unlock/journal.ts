import { appendFileSync, closeSync, openSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import { mistake } from "../failure.js";
import type { Output } from "../output.js";

/** What became of a lock that was to be freed. `unknown`: the answer was lost, and looking again did not tell either. */
export type UnlockOutcome = "released" | "absent" | "changed" | "unknown";

export interface JournalEntry {
  readonly name: string;
  /** The command, and how it was decided on: `unlock --force`. */
  readonly command: string;
  readonly reason: string | undefined;
  /** The deed, and the name of its object. */
  readonly did: string;
  /** What it was done to: `held by …`. */
  readonly seen: string;
}

/** The record of a deed: its holder, its user and its reason, on stderr, and with `--log` in a file. */
export class Journal {
  readonly #output: Output;
  readonly #file: number | undefined;

  /**
   * Opens the file before anything is done, so that nothing is freed that can not be written down.
   * @throws Failure
   */
  constructor(output: Output, path: string | undefined) {
    this.#output = output;
    this.#file = path === undefined ? undefined : opened(path);
  }

  write(deed: JournalEntry): void {
    const line = `${new Date().toISOString()} ${lineOf(deed)}`;
    this.#output.record(line);
    if (this.#file === undefined) return;
    try {
      appendFileSync(this.#file, `${line}\n`);
    } catch (error) {
      this.#output.complain(`--log: ${messageOf(error)}; the line above was not written to the file`);
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }
}

/** One line, whatever stands in names and reasons: they are written as JSON strings. */
function lineOf({ name, command, reason, did, seen }: JournalEntry): string {
  const parts = [
    `${command}: ${actor()} ${did} ${JSON.stringify(name)}`,
    seen,
    reason === undefined ? "no reason given" : `reason ${JSON.stringify(reason)}`,
  ];
  return parts.join("; ");
}

/** The user who typed the command, also behind sudo, and the machine. */
export function actor(): string {
  const user = userName();
  const { SUDO_USER: before } = process.env;
  const behind = before !== undefined && before !== user ? `${before} as ${user}` : user;
  return `${behind}@${hostname()} pid ${process.pid}`;
}

/** A container may run as a user without a name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}

function opened(path: string): number {
  try {
    return openSync(path, "a", 0o600);
  } catch (error) {
    throw mistake(`--log: ${messageOf(error)}`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
