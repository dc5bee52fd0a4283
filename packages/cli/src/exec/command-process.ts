import type { ChildProcess } from "node:child_process";
import { spawnSync } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { constants as system } from "node:os";
import { delimiter, join } from "node:path";
import spawn from "cross-spawn";
import { exitCodes } from "../exit-codes.js";
import { Failure } from "../failure.js";
import { withBytes } from "./argument-bytes.js";
import type { Runnable } from "./exec-options.js";
import { isStopped, livingMembers, send } from "./process-group.js";

/** How a command has ended. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The exit code that a shell reports for this ending. */
export function exitCodeOf({ code, signal }: Ending): number {
  if (signal !== null) return exitCodes.signalled + system.signals[signal];
  return code ?? exitCodes.software;
}

export interface Start {
  readonly runnable: Runnable;
  readonly env: NodeJS.ProcessEnv;
  readonly isGroup: boolean;
  readonly diesWithParent: boolean;
}

/**
 * A command that runs. If it has its own process group, signals go to all members of the group. Otherwise it shares holdfast's group and
 * terminal, and signals go to the command alone: a separate group could not read from the terminal.
 */
export class CommandProcess {
  readonly pid: number;
  readonly isGroup: boolean;
  /** Resolves when the command itself has ended. */
  readonly ended: Promise<Ending>;
  #hasEnded = false;

  private constructor(child: ChildProcess, pid: number, isGroup: boolean) {
    this.pid = pid;
    this.isGroup = isGroup;
    this.ended = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        this.#hasEnded = true;
        resolve({ code, signal });
      });
    });
  }

  /** @throws Failure if the command cannot be started */
  static async start({ runnable, env, isGroup, diesWithParent }: Start): Promise<CommandProcess> {
    if (diesWithParent) refuseMissing(runnable, env);
    const { file, args } = withBytes(runnable);
    const [program, words] = diesWithParent
      ? ["setpriv", [...DIES_WITH_PARENT, "--", file, ...args]]
      : [file, args];
    try {
      const child = spawn(program, [...words], { stdio: "inherit", detached: isGroup, env });
      const { pid } = child;
      if (pid !== undefined) return new CommandProcess(child, pid, isGroup);
      throw await new Promise((resolve) => child.once("error", resolve));
    } catch (error) {
      throw notStarted(runnable, error as NodeJS.ErrnoException);
    }
  }

  send(signal: NodeJS.Signals): void {
    // The system may reuse the id of an ended process. It does not reuse the id of a group that has members.
    if (this.isGroup) send(signal, -this.pid);
    else if (!this.#hasEnded) send(signal, this.pid);
  }

  /** The processes that still run, as far as they are known: members of the group, or the command itself. */
  living(): readonly number[] {
    if (this.isGroup) return livingMembers(this.pid);
    return this.#hasEnded ? [] : [this.pid];
  }

  /** Whether the command itself is stopped; undefined if the system does not show it. */
  get isStopped(): boolean | undefined {
    return this.#hasEnded ? true : isStopped(this.pid);
  }
}

const DIES_WITH_PARENT = ["--pdeathsig", "KILL"] as const;

/** @returns false if there is no setpriv, or if it lacks this option, like the setpriv of busybox */
export function canDieWithParent(): boolean {
  return spawnSync("setpriv", [...DIES_WITH_PARENT, "--", "true"], { stdio: "ignore" }).status === 0;
}

/** Checks that the program exists: setpriv would report a missing program only after the start of the command. */
function refuseMissing(runnable: Runnable, env: NodeJS.ProcessEnv): void {
  const { file } = runnable;
  const places = file.includes("/")
    ? [file]
    : (env["PATH"] ?? "").split(delimiter).map((folder) => join(folder === "" ? "." : folder, file));
  const found = places.filter((place) => statSync(place, { throwIfNoEntry: false })?.isFile());
  if (found.some(isExecutable)) return;
  throw notStarted(runnable, { code: found.length > 0 ? "EACCES" : "ENOENT" });
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function notStarted({ file }: Runnable, { code, message }: Partial<NodeJS.ErrnoException>): Failure {
  if (code === "ENOENT") return new Failure(exitCodes.notFound, `${file}: command not found`);
  const why = code === "EACCES" ? "permission denied" : (message ?? code);
  return new Failure(exitCodes.notExecutable, `${file}: can not be executed: ${why}`);
}
