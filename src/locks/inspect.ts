import type { Client } from "../client.js";
import { MODE_FIELD } from "../protocol/names.js";
import { look } from "./look.js";

/** What is stored about a lock. */
export interface LockState {
  /** As the program calls it. */
  readonly name: string;
  /** The key in Redis. */
  readonly key: string;
  /**
   * What the stored state looks like: `none` when the lock is free. A fair lock without waiters is stored as any other, and so is a `lock`
   * here. A fenced lock is known by its counter.
   */
  readonly kind: "none" | "lock" | "fair-lock" | "fenced-lock" | "read-write-lock";
  /** The holders as stored: `<client id>:<thread id>`, with `:write` behind those of a write lock. */
  readonly holders: readonly string[];
  /** How often each holder holds it. */
  readonly holdCounts: Readonly<Record<string, number>>;
  /** Milliseconds until it falls by itself, -2 when it is free, -1 when its key has no TTL. */
  readonly ttlMs: number;
  /** The waiters of a fair lock, the next first. No other lock has a queue: of its waiters only `listeners` tells. */
  readonly queue: readonly string[];
  /**
   * How many processes listen for the release of the lock: those that wait for it, and for some ten seconds those that have waited. Waiters
   * of fair and spin locks do not listen there. In a cluster with sharded messages only those that are connected to the master are counted.
   * Absent where the number cannot be known: with Sentinels, in a cluster with classic messages, and where `PUBSUB` is not allowed.
   */
  readonly listeners?: number;
  /** The latest fencing token; null when none was ever given out. */
  readonly token: bigint | null;
  /** The holders that belong to the client that asked. */
  readonly own: readonly string[];
}

export async function inspect(client: Client, name: string, key: string): Promise<LockState> {
  const record = await look({ client, key, name, kind: "lock" }, { counting: true });
  const { type, ttlMs, fields, queue, token, listeners } = record;
  const { [MODE_FIELD]: mode, ...counts } = fields;
  const holders = Object.keys(counts);
  return {
    name,
    key,
    kind: kindOf({ free: type === "none" && queue.length === 0, mode, queue, token }),
    holders,
    holdCounts: Object.fromEntries(Object.entries(counts).map(([holder, count]) => [holder, Number(count)])),
    ttlMs,
    queue,
    token: token === null ? null : BigInt(token),
    own: holders.filter((holder) => client.owns(holder)),
    ...(listeners === null ? {} : { listeners }),
  };
}

/** What tells the kinds of locks apart. */
interface Evidence {
  readonly free: boolean;
  readonly mode: string | undefined;
  readonly queue: readonly string[];
  readonly token: string | null;
}

export function kindOf({ free, mode, queue, token }: Evidence): LockState["kind"] {
  if (free) return "none";
  if (mode !== undefined) return "read-write-lock";
  if (queue.length > 0) return "fair-lock";
  return token === null ? "lock" : "fenced-lock";
}
