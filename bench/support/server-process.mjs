import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const READY_WITHIN_MS = 30_000;
const POLL_MS = 5;

/** @type {Set<() => void>} */
const endings = new Set();
process.on("exit", () => {
  // A server before the folder that it writes into.
  for (const end of [...endings].reverse()) end();
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(1));

/** A folder that is removed when we end, at the latest. */
export function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
  const remove = () => {
    endings.delete(remove);
    // A server that was killed a moment ago may still be writing.
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
  };
  endings.add(remove);
  return { folder, remove };
}

/**
 * Starts a server and waits until it is ready. It ends when we do, at the latest.
 *
 * @param {string} program
 * @param {readonly string[]} args
 * @param {() => Promise<boolean>} isReady
 * @returns {Promise<() => Promise<void>>} ends it (SIGKILL)
 */
export async function startServer(program, args, isReady) {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
  await once(child, "spawn");
  const kill = () => void child.kill("SIGKILL");
  endings.add(kill);
  const stop = async () => {
    endings.delete(kill);
    if (child.exitCode !== null || child.signalCode !== null) return;
    kill();
    await once(child, "close");
  };
  const deadlineMs = performance.now() + READY_WITHIN_MS;
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error(`${program} ended at once: ${output}`);
    if (performance.now() > deadlineMs) {
      await stop();
      throw new Error(`${program} is not ready after ${READY_WITHIN_MS} ms: ${output}`);
    }
    await sleep(POLL_MS);
  }
  return stop;
}
