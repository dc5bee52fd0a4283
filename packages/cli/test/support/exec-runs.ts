import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach } from "vitest";
import { guard, killNow } from "../../../../test/support/run/guard.js";
import { until } from "../../../../test/support/run/until.js";

/** The built command line. */
export const holdfastProgram = fileURLToPath(new URL("../../dist/main.js", import.meta.url));
/** Tells the signals that it and a process below it get: `ready`, `outer SIGTERM`, `inner SIGTERM`. */
export const signalListener = fileURLToPath(new URL("programs/signal-listener.mjs", import.meta.url));

/** The variable that all processes of a run have in their environment, wherever they go. */
const MARK = "EXEC_TEST_RUN";

/** Enough for a program that is only slow to write on. */
const STALLED_LOOKS = 50;

export interface RunOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** What is to be stdin. Default: `/dev/null`. */
  readonly stdin?: "pipe" | "ignore";
  /** A program that is run in place of Node with the command line, with all arguments. */
  readonly program?: string;
}

/** A process that was started, most often the command line. It never outlives this one. */
export class Run {
  readonly process: ChildProcess;
  readonly pid: number;
  /** Resolves with the exit code, or the signal, when it has ended and all of its output was read. */
  readonly exited: Promise<number | NodeJS.Signals | null>;
  readonly mark: string;
  out = "";
  err = "";
  hasEnded = false;

  constructor(file: string, args: readonly string[], { env = {}, stdin = "ignore" }: RunOptions) {
    this.mark = randomUUID();
    this.process = spawn(file, [...args], {
      env: { ...process.env, ...env, [MARK]: this.mark },
      stdio: [stdin, "pipe", "pipe"],
    });
    const { pid, stdout, stderr, stdin: input } = this.process;
    if (pid === undefined) throw new Error(`${file} could not be started`);
    this.pid = pid;
    input?.on("error", () => undefined);
    const release = guard(pid);
    stdout?.on("data", (text) => {
      this.out += text;
    });
    stderr?.on("data", (text) => {
      this.err += text;
    });
    this.exited = new Promise((resolve) => {
      this.process.once("close", (code, signal) => {
        release();
        this.hasEnded = true;
        resolve(signal ?? code);
      });
    });
  }

  /** Resolves once stdout has that text, or fails when the process has ended without it. */
  async says(text: string): Promise<void> {
    await until(() => this.#has(this.out, text));
  }

  /** The same of stderr. */
  async complains(text: string): Promise<void> {
    await until(() => this.#has(this.err, text));
  }

  /** Resolves when what it has started has written something, and can not write on. */
  async stalled(): Promise<void> {
    let looks: readonly number[] = [];
    await until(() => {
      looks = [...looks, Math.max(0, ...this.below().map(writtenBy))].slice(-STALLED_LOOKS);
      return looks.length === STALLED_LOOKS && looks.every((bytes) => bytes > 50_000 && bytes === looks[0]);
    });
  }

  signal(signal: NodeJS.Signals): void {
    process.kill(this.pid, signal);
  }

  /** The living processes that it has started, and theirs, without itself: those in groups and sessions of their own as well. */
  below(): readonly number[] {
    return marked(this.mark).filter((pid) => pid !== this.pid);
  }

  /** Kills it and all that it has started. */
  async stop(): Promise<void> {
    if (!this.hasEnded) killNow(this.pid);
    // One that is just replaced by its program has no environment for a moment. It keeps the output open until it is found.
    for (let left = this.below(); left.length > 0 || !this.hasEnded; left = this.below()) {
      for (const pid of left) killNow(pid);
      await new Promise(setImmediate);
    }
  }

  #has(said: string, text: string): boolean {
    if (said.includes(text)) return true;
    if (this.hasEnded) throw new Error(`it has ended without "${text}": ${this.out}${this.err}`);
    return false;
  }
}

export type Start = (args: readonly string[], options?: RunOptions) => Run;

/**
 * To be called once in a file. What is started is killed after each test, with all that it has started: a test that expects that
 * nothing is left looks at `below()`.
 */
export function execRuns(url: () => string): Start {
  const runs: Run[] = [];
  afterEach(async () => {
    await Promise.all(runs.splice(0).map((run) => run.stop()));
  });
  if (!existsSync(holdfastProgram)) throw new Error("build the command line: node scripts/build.mjs --cli");
  return (args, options = {}) => {
    const env = { HOLDFAST_URL: url(), HOLDFAST_HELD: "", REDIS_URL: "", NO_COLOR: "1", ...options.env };
    const { program = process.execPath } = options;
    const words = options.program === undefined ? [holdfastProgram, ...args] : args;
    const run = new Run(program, words, { ...options, env });
    runs.push(run);
    return run;
  };
}

/** In bytes; 0 of one that has just ended. */
function writtenBy(pid: number): number {
  try {
    return Number(/wchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1]);
  } catch {
    return 0;
  }
}

/** The ids of living processes with that mark; those that have ended and were not waited for have no environment any more. */
function marked(mark: string): readonly number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      return readFileSync(`/proc/${name}/environ`, "latin1").includes(`${MARK}=${mark}`)
        ? [Number(name)]
        : [];
    } catch {
      return [];
    }
  });
}
