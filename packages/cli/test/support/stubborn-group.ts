import type { Run, Start } from "./exec-runs.js";

/** A group of three processes that ignore SIGTERM, and tell their ids. */
const stubborn = ["sh", "-c", "trap '' TERM; sleep 600 & one=$!; sleep 600 & echo $$ $one $!; wait"];

/** Starts them under a lock. */
export async function startStubborn(
  start: Start,
  name: string,
  options: readonly string[],
): Promise<{ readonly run: Run; readonly pids: readonly string[] }> {
  const run = start(["exec", name, ...options, "--", ...stubborn]);
  await run.says("\n");
  return { run, pids: run.out.trim().split(" ") };
}

/** The next one that wants the lock. The first that its command does is to look which of those processes live. */
export async function startNext(
  start: Start,
  name: string,
  options: readonly string[],
  pids: readonly string[],
): Promise<Run> {
  const look = 'for pid; do cat "/proc/$pid/stat" 2>/dev/null; done; echo looked';
  const args = ["exec", name, ...options, "--report-every", "100ms", "--", "sh", "-c", look, "sh", ...pids];
  const run = start(args);
  await run.complains("waiting for");
  return run;
}

/** Of the numbers that follow the name in `/proc/<pid>/stat`: the bits of the signals that have been sent and not delivered; see proc(5). */
const PENDING = 28;
const SIGKILL_BIT = 256n;

/** What the next one has found alive. */
export function found(next: Run): readonly string[] {
  const lines = next.out.split("\n").filter((line) => line !== "" && line !== "looked");
  return lines.filter((line) => !isDead(line.slice(line.lastIndexOf(")") + 2).split(" ")));
}

/** One that has ended, and was not waited for, is dead. So is one that was sent SIGKILL: no code of its own is run any more. */
function isDead(stat: readonly string[]): boolean {
  const [state = ""] = stat;
  return ["Z", "X"].includes(state) || (BigInt(stat[PENDING] ?? 0) & SIGKILL_BIT) !== 0n;
}
