import { spawn } from "node:child_process";

const guarded = new Set<number>();

process.on("exit", () => {
  for (const pid of guarded) killNow(pid);
});

/**
 * Sees to it that a process which we started does not outlive us, even when we are killed ourselves: a shell in a
 * session of its own waits until the pipe from us breaks, then kills that one process and removes its folder.
 *
 * @returns what ends the watch; to be called once the process is gone, before its id can be used again
 */
export function guard(pid: number, folder = ""): () => void {
  const shell = spawn("/bin/sh", ["-c", 'cat; kill -9 "$0"; rm -rf "$1"', String(pid), folder], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  shell.unref();
  const { stdin } = shell;
  // The pipe breaks when we end the shell.
  stdin.on("error", () => undefined);
  if ("unref" in stdin && typeof stdin.unref === "function") stdin.unref();
  guarded.add(pid);
  return () => {
    guarded.delete(pid);
    shell.kill("SIGKILL");
    stdin.destroy();
  };
}

/** Sends SIGKILL, which also ends a stopped process. Harmless when it has ended. */
export function killNow(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}
