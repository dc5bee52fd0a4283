import { until } from "../../../../test/support/run/until.js";
import { ask } from "../../../../test/support/servers/ask.js";
import type { RedisServer } from "../../../../test/support/servers/redis-server.js";
import type { Run } from "./exec-runs.js";

/** Tells under which locks it runs, and ends with 7 when a line was written to it. */
export const telling: readonly string[] = [
  "sh",
  "-c",
  'echo "$HOLDFAST_LOCK_HOLDER $HOLDFAST_HELD"; read line; exit 7',
];

/** What `telling` has told once it runs. */
export async function toldHold(run: Run): Promise<{ readonly holder: string; readonly held: string }> {
  await run.says("\n");
  const [holder = "", held = ""] = run.out.trimEnd().split(" ");
  return { holder, held };
}

/** Has `telling` end. @returns the exit code */
export function endTelling(run: Run): Run["exited"] {
  run.process.stdin?.end("\n");
  return run.exited;
}

/** Resolves when the lock, which has a TTL of some seconds, was renewed at that server after this call. */
export async function renewedAt(server: RedisServer, name: string, ttlMs: number): Promise<void> {
  const leftMs = async () => Number(await ask(server, "PTTL", name));
  // It is renewed each third of it.
  await until(async () => between(await leftMs(), 0, ttlMs - 2_000));
  await until(async () => between(await leftMs(), ttlMs - 1_000, ttlMs));
}

function between(value: number, least: number, most: number): boolean {
  return value > least && value <= most;
}
