import { defineScript, type Script } from "./define-script.js";
import * as scripts from "./later-scripts.js";
import { integer, list, text, textOrNull } from "./replies.js";
import type { RawReply } from "./script-call.js";

/** The stored state of a lock, a semaphore or a latch, written by holdfast or by Redisson. */
export interface LockRecord {
  /** Redis' type of the lock's key; `none` if it is missing. */
  readonly type: string;
  /** -2 if the key is missing, -1 if it has no TTL. */
  readonly ttlMs: number;
  readonly fields: Readonly<Record<string, string>>;
  /** The waiters of a fair lock. */
  readonly queue: readonly string[];
  /**
   * The clients that wait for a lock without a fair queue, or for permits, the next one first: at most 1,000, and none if there are more
   * than 10,000.
   */
  readonly waitingClients: readonly string[];
  /** How many places these clients have in the queue; 0 if not asked for. */
  readonly waitingClientCount: number;
  readonly token: string | null;
  /** How many connections listen to the channels; null if not asked for, or if the server does not tell. */
  readonly listeners: number | null;
  /** For a semaphore or latch; null if the key is not a count. */
  readonly permits: PermitRecord | null;
}

export interface PermitRecord {
  /** The stored count, which does not include permits with expired leases. */
  readonly count: number;
  /** The leased permits; undefined if there are none. */
  readonly leases?: {
    readonly expired: number;
    readonly taken: number;
    /** The permits that end first, at most 1,000. */
    readonly first: readonly LeasedPermit[];
  };
}

/** A taken permit of a permit-expirable semaphore. */
export interface LeasedPermit {
  /** 32 hexadecimal digits. */
  readonly id: string;
  /** Milliseconds until the permit returns by itself; -1 for a permanent permit. */
  readonly endsInMs: number;
}

/** The keys and channels of the lock to read. */
interface LockLook {
  readonly key: string;
  readonly queueKey: string;
  readonly tokenKey: string;
  readonly leasesKey: string;
  /** The queues of waiting clients: one for a lock without a fair queue or for permits, and one for a write lock. Undefined: not read. */
  readonly waitingKeys?: readonly string[] | undefined;
  /** The subcommand of PUBSUB that counts the subscribers; undefined: they are not counted. */
  readonly counting?: "NUMSUB" | "SHARDNUMSUB" | undefined;
  /** The channels of the lock's waiters. */
  readonly channels?: readonly string[];
}

/** Reads everything stored about a lock, a semaphore or a latch; see lock-inspect.lua. */
export const lockInspect: Script<LockLook, LockRecord> = defineScript({
  source: scripts.lockInspect,
  keys: ({ key, queueKey, tokenKey, leasesKey, waitingKeys = [] }) => [
    key,
    queueKey,
    tokenKey,
    leasesKey,
    ...waitingKeys,
  ],
  args: ({ counting = "", channels = [] }) => [counting, ...channels],
  reply: ([type, ttlMs, fields, queue, token, listeners, permits, clients, clientCount]) => ({
    type: text(type),
    ttlMs: integer(ttlMs),
    fields: pairs(list(fields)),
    queue: list(queue).map(text),
    waitingClients: list(clients).map(text),
    waitingClientCount: integer(clientCount),
    token: textOrNull(token),
    listeners: typeof listeners === "number" ? listeners : null,
    permits: permits === null || permits === undefined ? null : permitRecord(list(permits)),
  }),
});

function permitRecord([count, expired, taken, first]: readonly RawReply[]): PermitRecord {
  if (first === undefined) return { count: integer(count) };
  return {
    count: integer(count),
    leases: { expired: integer(expired), taken: integer(taken), first: leasedPermits(list(first)) },
  };
}

/** Reads a list in which ids and milliseconds alternate. */
export function leasedPermits(flat: readonly RawReply[]): readonly LeasedPermit[] {
  const permits: LeasedPermit[] = [];
  for (let i = 0; i < flat.length; i += 2)
    permits.push({ id: text(flat[i]), endsInMs: integer(flat[i + 1]) });
  return permits;
}

/** A hash in the form of a Redis reply. */
export function pairs(flat: readonly RawReply[]): Record<string, string> {
  const entries: [string, string][] = [];
  for (let i = 0; i < flat.length; i += 2) entries.push([text(flat[i]), text(flat[i + 1])]);
  // Any program may have written a field of any name. An assignment would not create an entry for a name such as `__proto__`.
  return Object.fromEntries(entries);
}
