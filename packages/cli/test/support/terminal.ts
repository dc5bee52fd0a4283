import { spawnSync } from "node:child_process";
import type { Run, Start } from "./exec-runs.js";

/** script(1) of util-linux, which each Debian has, gives a program a terminal, and types there what is written to its own stdin. */
export const hasScript: boolean =
  spawnSync("script", ["-qec", "true", "/dev/null"], { stdio: "ignore" }).status === 0;

export const CTRL_C = "\u0003";
export const CTRL_D = "\u0004";
export const CTRL_BACKSLASH = "\u001c";
export const CTRL_Z = "\u001a";
export const BACKSPACE = "\u007f";

/**
 * Runs a line of a shell in a terminal of its own; its stdout and stderr both become `out`. By `exec`, as some shells stay beside what they
 * have started, and then end with what Ctrl-C does to them.
 */
export function startInTerminal(start: Start, line: string): Run {
  return start(["-qefc", `exec ${line}`, "/dev/null"], {
    program: "script",
    stdin: "pipe",
    env: { SHELL: "/bin/sh", TERM: "xterm" },
  });
}

export function type(run: Run, keys: string): void {
  run.process.stdin?.write(keys);
}
