import { appendFileSync, closeSync, openSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import { mistake } from "../failure.js";
import type { Output } from "../output.js";

/** The outcome of freeing a lock. `unknown`: the answer was lost, and a second look did not show the outcome either. */
export type UnlockOutcome = "released" | "absent" | "changed" | "unknown";

export interface JournalEntry {
  readonly name: string;
  /** The command, and the option that told it to act: `unlock --force`. */
  readonly command: string;
  readonly reason: string | undefined;
  /** The action, and the name of its object. */
  readonly did: string;
  /** The former state: `held by …`. */
  readonly seen: string;
}

/** Records an action, with the former holder, the user and the reason: on stderr and, with `--log`, in a file. */
export class Journal {
  readonly #output: Output;
  readonly #file: number | undefined;

  /**
   * Opens the file before the action, so that every action can be recorded.
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

/** Always one line: names and reasons are written as JSON strings. */
function lineOf({ name, command, reason, did, seen }: JournalEntry): string {
  const parts = [
    `${command}: ${actor()} ${did} ${JSON.stringify(name)}`,
    seen,
    reason === undefined ? "no reason given" : `reason ${JSON.stringify(reason)}`,
  ];
  return parts.join("; ");
}

/** The user who typed the command, even if it runs under sudo, and the machine. */
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
