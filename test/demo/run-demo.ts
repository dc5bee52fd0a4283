import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { killNow } from "../support/run/guard.js";

const PROGRAM = join(import.meta.dirname, "../../build/demo/main.js");

/** What became of a run of the demo. */
export interface DemoRun {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly tookMs: number;
  /** True when a process of the run was still there when the demo had ended. It is gone by now. */
  readonly leftProcesses: boolean;
}

export interface DemoSettings {
  /** Sends SIGINT, as Ctrl-C does, to all processes of the run once the output contains this. */
  readonly interruptAt?: string;
}

/** Runs the built demo to its end, as leader of a process group, so that its workers can be told from others. */
export async function runDemo(args: readonly string[], { interruptAt }: DemoSettings = {}): Promise<DemoRun> {
  const startMs = performance.now();
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  await once(child, "spawn");
  const group = -Number(child.pid);
  const killGroup = () => killNow(group);
  process.once("exit", killGroup);
  let stdout = "";
  let stderr = "";
  let mayInterrupt = interruptAt !== undefined;
  child.stdout.on("data", (text) => {
    stdout += text;
    if (!mayInterrupt || !stdout.includes(String(interruptAt))) return;
    mayInterrupt = false;
    process.kill(group, "SIGINT");
  });
  child.stderr.on("data", (text) => (stderr += text));
  await once(child, "exit");
  const leftProcesses = isThere(group);
  killGroup();
  process.off("exit", killGroup);
  if (child.stdout.readable || child.stderr.readable) await once(child, "close");
  return { exitCode: child.exitCode, stdout, stderr, tookMs: performance.now() - startMs, leftProcesses };
}

function isThere(group: number): boolean {
  try {
    process.kill(group, 0);
    return true;
  } catch {
    return false;
  }
}
