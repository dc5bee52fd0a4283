import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { whenWeEnd } from "./endings.mjs";

const READY_WITHIN_MS = 30_000;
const POLL_MS = 5;

/** A folder that is removed when we end, at the latest. */
export function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
  const removeNow = () => {
    // A server that was killed a moment ago may still be writing.
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
  };
  const forget = whenWeEnd(removeNow);
  const remove = () => {
    forget();
    removeNow();
  };
  return { folder, remove };
}

/**
 * Starts a server and waits until it is ready. It ends when we do, at the latest.
 *
 * @param {string} program
 * @param {readonly string[]} args
 * @param {(pid: number) => Promise<boolean>} isReady
 * @returns {Promise<() => Promise<void>>} ends it (SIGKILL)
 */
export async function startServer(program, args, isReady) {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
  await once(child, "spawn");
  const kill = () => void child.kill("SIGKILL");
  const forget = whenWeEnd(kill);
  const stop = async () => {
    forget();
    if (child.exitCode !== null || child.signalCode !== null) return;
    kill();
    await once(child, "close");
  };
  const deadlineMs = performance.now() + READY_WITHIN_MS;
  while (!(await isReady(child.pid ?? 0))) {
    if (child.exitCode === null && performance.now() < deadlineMs) {
      await sleep(POLL_MS);
      continue;
    }
    await stop();
    throw new Error(`${program} is not ready: ${output}`);
  }
  return stop;
}
