import { defineScript, type Script } from "./define-script.js";
import * as scripts from "./later-scripts.js";
import { integer, list, text, textOrNull } from "./replies.js";
import type { RawReply } from "./script-call.js";

/** What is stored about a lock, a semaphore or a latch, by holdfast or by Redisson. */
export interface LockRecord {
  /** Redis' name of the type of the lock's key; `none` when it is missing. */
  readonly type: string;
  /** -2 when the key is missing, -1 when it has no TTL. */
  readonly ttlMs: number;
  readonly fields: Readonly<Record<string, string>>;
  /** The waiters of a fair lock. */
  readonly queue: readonly string[];
  /** The clients that wait for a lock without a fair queue, or for permits, the next first: 1,000 at most, and none of more than 10,000. */
  readonly waitingClients: readonly string[];
  /** How many places they have; 0 where they were not asked for. */
  readonly waitingClientCount: number;
  readonly token: string | null;
  /** How many connections listen; null unless that was asked for, and where the server does not tell. */
  readonly listeners: number | null;
  /** Of a semaphore or a latch; null where the key is no count. */
  readonly permits: PermitRecord | null;
}

export interface PermitRecord {
  /** What is stored; leases that are over are not counted. */
  readonly count: number;
  /** The permits that are leased; undefined where there are none. */
  readonly leases?: {
    readonly expired: number;
    readonly taken: number;
    /** The first to end, 1,000 at most. */
    readonly first: readonly LeasedPermit[];
  };
}

/** A permit of a permit-expirable semaphore that is out. */
export interface LeasedPermit {
  /** 32 hexadecimal digits. */
  readonly id: string;
  /** Milliseconds until it returns by itself; -1 of a permanent one. */
  readonly endsInMs: number;
}

/** The keys and channels of the lock that is read. */
interface LockLook {
  readonly key: string;
  readonly queueKey: string;
  readonly tokenKey: string;
  readonly leasesKey: string;
  /** The queues of the clients that wait: for a lock without a fair queue or for permits, and to write. Undefined: they are not read. */
  readonly waitingKeys?: readonly string[] | undefined;
  /** The subcommand of PUBSUB that counts the subscribers; undefined: they are not counted. */
  readonly counting?: "NUMSUB" | "SHARDNUMSUB" | undefined;
  /** Where waiters may listen. */
  readonly channels?: readonly string[];
}

/** Reads all that is stored about a lock, a semaphore or a latch; see lock-inspect.lua. */
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

/** Ids and milliseconds in turn. */
export function leasedPermits(flat: readonly RawReply[]): readonly LeasedPermit[] {
  const permits: LeasedPermit[] = [];
  for (let i = 0; i < flat.length; i += 2)
    permits.push({ id: text(flat[i]), endsInMs: integer(flat[i + 1]) });
  return permits;
}

/** A hash as Redis answers it. */
export function pairs(flat: readonly RawReply[]): Record<string, string> {
  const entries: [string, string][] = [];
  for (let i = 0; i < flat.length; i += 2) entries.push([text(flat[i]), text(flat[i + 1])]);
  // Any program may have written a field of any name: one that objects inherit would not become an entry by an assignment.
  return Object.fromEntries(entries);
}
