import { existsSync, readFileSync } from "node:fs";

/** Resolves once a process that was sent SIGSTOP stands still, where the system can tell. */
export async function whenStopped(pid: number): Promise<void> {
  while (existsSync("/proc/self/stat") && stateOf(pid) !== "T") await new Promise(setImmediate);
}

/** The letter of proc(5) for what a process does: T when it is stopped. */
function stateOf(pid: number): string | undefined {
  return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.[0];
}
