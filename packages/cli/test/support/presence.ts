import type { Redis } from "ioredis";

/** A client as it is stored, at any time that a test wants. */
export interface StoredClient {
  readonly id: string;
  readonly app: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** `[key, kind, threadId, count, ageMs, flags, note?]` each. */
  readonly holds?: readonly (readonly unknown[])[];
  /** `[key, kind, ageMs]` each. */
  readonly waits?: readonly (readonly unknown[])[];
  readonly lost?: readonly (readonly unknown[])[];
  /** How long ago it has told of itself: gone after 15 s. */
  readonly agoMs?: number;
}

const EVERY_MS = 5_000;

/** Writes what a client of the group `default` tells of itself. @returns the keys */
export async function storeClient(redis: Redis, client: StoredClient): Promise<readonly string[]> {
  const { id, app, labels = {}, holds = [], waits = [], lost = [], agoMs = 0 } = client;
  const [seconds = 0, micros = 0] = await redis.time();
  const at = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000) - agoMs;
  const meta = {
    app,
    host: "web-7",
    pid: 7,
    startedMs: at - 60_000,
    lib: "holdfast 0.1.0",
    runtime: "node 20",
    labels,
  };
  const live = { acquired: 0, holds, waits, stats: [], lost, more: { holds: 0, waits: 0, stats: 0 } };
  const keys = ["holdfast_clients:{default}", `holdfast_client:{default}:${id}`] as const;
  const stored = {
    v: 1,
    meta: JSON.stringify(meta),
    live: JSON.stringify(live),
    at,
    liveAt: at,
    every: EVERY_MS,
  };
  await redis.zadd(keys[0], at + 3 * EVERY_MS, id);
  await redis.hset(keys[1], stored);
  return keys;
}

/** The id of a client of holdfast. */
export function clientId(nth: number): string {
  return `319b0b1c-0000-8001-8000-${String(nth).padStart(12, "0")}`;
}
