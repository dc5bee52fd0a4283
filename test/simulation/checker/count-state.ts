import { permitLeasesKey, savedPermitsKey } from "../../../src/protocol/names.js";
import type { SimServer } from "../world/sim-server.js";
import { type PermitQueue, readQueue } from "./permit-turns.js";

/** The end of a permanent permit, as Redisson stores it. */
export const PERMANENT_MS = 922_337_203_685_477;

/** A semaphore or a latch, as its server has it at a moment. */
export interface CountState {
  /** Permits that are available, or what a latch is to be counted down by; undefined: there is none. */
  readonly count: number | undefined;
  /** Ids of permits that are out, with when their leases end on the server's clock. Those that have ended count as available. */
  readonly leases: ReadonlyMap<string, number>;
  /** For whom permits are saved up, and how many; the owner is "-" while none may be. */
  readonly saved: { readonly owner: string; readonly permits: number } | undefined;
  /** The lines of clients that wait for permits. */
  readonly queue: PermitQueue;
  /** On the server's clock. */
  readonly nowMs: number;
}

export function readCount(server: SimServer, name: string): CountState {
  const nowMs = Math.floor(server.timeMs);
  const stored = server.command("GET", name);
  const scores = server.command("ZRANGE", permitLeasesKey(name), 0, -1, "WITHSCORES") as readonly string[];
  const leases = new Map<string, number>();
  let ended = 0;
  for (let at = 0; at < scores.length; at += 2) {
    const endsMs = Number(scores[at + 1]);
    if (endsMs > nowMs) leases.set(hexOf(scores[at] ?? ""), endsMs);
    else ended += 1;
  }
  return {
    count: stored === null ? undefined : Number(stored) + ended,
    leases,
    saved: savedOf(server.command("GET", savedPermitsKey(name))),
    queue: readQueue(server, name, nowMs),
    nowMs,
  };
}

/** How many permits there are; undefined: there is no semaphore. */
export function totalOf({ count, leases }: CountState): number | undefined {
  return count === undefined ? undefined : count + leases.size;
}

/** How many permits others than an owner leave alone. */
export function savedForOthers({ saved }: CountState, owner: string): number {
  return saved === undefined || saved.owner === owner ? 0 : saved.permits;
}

function savedOf(record: unknown): CountState["saved"] {
  if (typeof record !== "string") return undefined;
  const [, owner = "", permits = ""] = /^(.+):(\d+):(\d+)$/.exec(record) ?? [];
  return { owner, permits: Number(permits) };
}

/** The ids of a run are bytes that are text as well. */
function hexOf(bytes: string): string {
  return Buffer.from(bytes, "latin1").toString("hex");
}
