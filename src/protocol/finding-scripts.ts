import { readableStarts } from "./channel-names.js";
import { defineScript, type Script } from "./define-script.js";
import { type LeasedPermit, type LockRecord, leasedPermits, pairs } from "./inspect-scripts.js";
import * as scripts from "./later-scripts.js";
import { fairQueueKey, fencingTokenKey, permitLeasesKey, waitingKey, writersQueueKey } from "./names.js";
import { integer, list, text, textOrNull, unexpected } from "./replies.js";
import type { RawReply } from "./script-call.js";

/** A channel of a lock, a semaphore or a latch. */
export interface FoundChannel {
  readonly channel: string;
  /** How many connections to the masters listen to it. */
  readonly listeners: number;
}

/** Names the channels that somebody listens to; see find-channels.lua. One that is listened to at several masters is named several times. */
export const findChannels: Script<{ readonly sharded: boolean }, readonly FoundChannel[]> = defineScript({
  source: scripts.findChannels,
  everywhere: true,
  keys: () => [],
  args: ({ sharded }) => [sharded ? 1 : 0, ...readableStarts],
  reply: (masters) =>
    masters.flatMap((master) => {
      const [, answer] = list(master);
      const flat = list(answer);
      const found: FoundChannel[] = [];
      for (let at = 0; at < flat.length; at += 2)
        found.push({ channel: text(flat[at]), listeners: integer(flat[at + 1]) });
      return found;
    }),
});

/** How far the keys of a server have been gone through. */
export interface ScanPlace {
  /** Of the server since its start; "" where it does not tell. */
  readonly runId: string;
  /** "0": it is done. */
  readonly cursor: string;
}

/** One step of a server. */
export interface ScanStep extends ScanPlace {
  readonly keys: readonly string[];
  /** How many keys were found whose names are not UTF-8. */
  readonly unreadable: number;
}

interface ScanInput {
  /** About how many keys each server goes through. */
  readonly count: number;
  /** Where the servers were after their last steps. */
  readonly places: readonly ScanPlace[];
}

/** Goes through the keys of all servers, step by step; see find-hashes.lua. */
export const findHashes: Script<ScanInput, readonly ScanStep[]> = defineScript({
  source: scripts.findHashes,
  everywhere: true,
  keys: () => [],
  args: ({ count, places }) => [count, ...places.flatMap(({ runId, cursor }) => [runId, cursor])],
  reply: (masters) =>
    masters.map((master) => {
      const [, answer] = list(master);
      const [runId, cursor, keys, unreadable] = list(answer);
      return {
        runId: text(runId),
        cursor: text(cursor),
        keys: list(keys).map(text),
        unreadable: integer(unreadable),
      };
    }),
});

/** What is stored about a key that was found, in bounded size. */
export interface FoundRecord extends Omit<LockRecord, "permits" | "waitingClientCount"> {
  /** Of a semaphore or a latch; null where the key is no count. */
  readonly permits: FoundPermits | null;
  /** What `waitingClients` wait for. */
  readonly waitsFor: "lock" | "write" | "permits";
  /** How many holders, and how many that wait, are not in `fields`, and in `queue` and `waitingClients`. */
  readonly more: { readonly holders: number; readonly waiting: number };
}

export interface FoundPermits {
  /** What is stored; leases that are over are not counted. */
  readonly count: number;
  /** The permits that are leased; undefined where there are none. */
  readonly leases?: {
    readonly expired: number;
    readonly taken: number;
    /** How many of them never end. */
    readonly permanent: number;
    /** The last to end, 1,000 at most; none of a semaphore with more than 10,000. */
    readonly last: readonly LeasedPermit[];
  };
}

interface LookAtLocks {
  readonly locks: readonly string[];
  /** Whether the clients that wait are read as well. */
  readonly withClients: boolean;
}

/**
 * What is stored about some keys that may be those of locks: of the first keys, one at least; see lock-inspect-many.lua.
 */
export const lockInspectMany: Script<LookAtLocks, readonly FoundRecord[]> = defineScript({
  source: scripts.lockInspectMany,
  keys: ({ locks, withClients }) =>
    locks.flatMap((key) => {
      const keys = [key, fairQueueKey(key), fencingTokenKey(key), permitLeasesKey(key)];
      return withClients ? [...keys, waitingKey(key), writersQueueKey(key)] : keys;
    }),
  args: ({ withClients }) => [withClients ? "all" : "fewer"],
  reply(records) {
    // The caller asks again for the rest: without one record it would ask for ever.
    if (records.length === 0) throw unexpected("a lock at least", []);
    return records.map(recordOf);
  },
});

function recordOf(raw: RawReply): FoundRecord {
  const [
    type,
    ttlMs,
    flat,
    fieldCount,
    waiters,
    queueLength,
    token,
    permits,
    clients,
    clientCount,
    waitsFor,
  ] = list(raw);
  const [fields, queue, waitingClients] = [
    pairs(list(flat)),
    list(waiters).map(text),
    list(clients).map(text),
  ];
  return {
    type: text(type),
    ttlMs: integer(ttlMs),
    fields,
    queue,
    waitingClients,
    waitsFor: waitsFor === 2 ? "permits" : waitsFor === 1 ? "write" : "lock",
    token: textOrNull(token),
    listeners: null,
    permits: permits === null || permits === undefined ? null : permitsOf(list(permits)),
    more: {
      holders: integer(fieldCount) - Object.keys(fields).length,
      waiting: integer(queueLength) - queue.length + integer(clientCount) - waitingClients.length,
    },
  };
}

function permitsOf([count, expired, taken, permanent, last]: readonly RawReply[]): FoundPermits {
  if (last === undefined) return { count: integer(count) };
  const numbers = { expired: integer(expired), taken: integer(taken), permanent: integer(permanent) };
  return { count: integer(count), leases: { ...numbers, last: leasedPermits(list(last)) } };
}
