import type { FakeTime } from "../../../../test/support/worlds/fake-time.js";

export const GHOST = "15c9a22e-a26e-8001-9d71-bc297677829d";
export const OTHER_GHOST = "25c9a22e-a26e-8001-9d71-bc297677829d";
export const THIRD_GHOST = "35c9a22e-a26e-8001-9d71-bc297677829d";
/** A client is gone after three of these. */
const EVERY_MS = 1_000;

interface Ghost {
  readonly id?: string;
  /** Of its process. Default: 1. */
  readonly pid?: number;
  /** How long it has been silent. Default: an hour less ten minutes. */
  readonly silentMs?: number;
  /** What it told of its holds. Default: nothing. */
  readonly holds?: readonly (readonly unknown[])[];
}

/** A client that told of itself and then fell silent, by the keys that it left. */
export function leaveGhost(
  time: FakeTime,
  { id = GHOST, pid = 1, silentMs = 3_000_000, holds = [] }: Ghost = {},
): void {
  const at = time.clock.wallMs() - silentMs;
  const meta = {
    app: "jobs",
    host: "pod-9",
    pid,
    startedMs: at,
    lib: "holdfast 0.1.0",
    runtime: "node",
    labels: {},
  };
  const live = {
    acquired: 1,
    holds,
    waits: [],
    stats: [],
    lost: [],
    more: { holds: 0, waits: 0, stats: 0 },
  };
  const fields = {
    v: "1",
    meta: JSON.stringify(meta),
    live: JSON.stringify(live),
    liveAt: String(at),
    at: String(at),
    every: String(EVERY_MS),
  };
  time.server.command("HSET", `holdfast_client:{default}:${id}`, ...Object.entries(fields).flat());
  time.server.command("ZADD", "holdfast_clients:{default}", at + 3 * EVERY_MS, id);
}

export function removeGhosts({ server }: FakeTime): void {
  server.command("DEL", "holdfast_clients:{default}");
  for (const id of [GHOST, OTHER_GHOST, THIRD_GHOST])
    server.command("DEL", `holdfast_client:{default}:${id}`);
}

/** The lock "a" is held, and nothing renews it. */
export function held({ server }: FakeTime, holders: readonly string[], leaseMs = 100_000): void {
  server.command("HSET", "a", ...holders.flatMap((holder) => [holder, 1]));
  if (leaseMs >= 0) server.command("PEXPIRE", "a", leaseMs);
}
