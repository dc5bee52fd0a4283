import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { guard, killNow } from "../../../../test/support/run/guard.js";
import { until } from "../../../../test/support/run/until.js";

export const main: string = fileURLToPath(new URL("../../dist/main.js", import.meta.url));

/** The built command line as a process of its own. */
export interface Program {
  readonly pid: number;
  readonly out: () => string;
  readonly err: () => string;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  /** Resolves once that text was written, on whichever stream. */
  says(text: string): Promise<void>;
  /** Reads no more of what it writes. */
  closeOut(): void;
  /** Reads no more of what it says. */
  closeErr(): void;
  stop(): Promise<void>;
}

export function startProgram(args: readonly string[], env: NodeJS.ProcessEnv): Program {
  if (!existsSync(main)) throw new Error("the command line is not built: node scripts/build.mjs --cli");
  const child = spawn(process.execPath, [main, ...args], { env: { PATH: process.env["PATH"], ...env } });
  const { pid } = child;
  if (pid === undefined) throw new Error("it could not be started");
  const release = guard(pid);
  const written = { out: "", err: "" };
  child.stdout.on("data", (text) => {
    written.out += text;
  });
  child.stderr.on("data", (text) => {
    written.err += text;
  });
  let hasEnded = false;
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once("close", (code, signal) => {
      hasEnded = true;
      release();
      resolve({ code, signal });
    });
  });
  const isSaid = (text: string) => written.out.includes(text) || written.err.includes(text);
  return {
    pid,
    out: () => written.out,
    err: () => written.err,
    exited,
    async says(text) {
      await until(() => isSaid(text) || hasEnded);
      if (!isSaid(text)) throw new Error(`it has ended without "${text}": ${written.err}`);
    },
    closeOut() {
      child.stdout.destroy();
    },
    closeErr() {
      child.stderr.destroy();
    },
    async stop() {
      if (!hasEnded) killNow(pid);
      await exited;
    },
  };
}
