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
  /** How many connections to the masters listen to the channel. */
  readonly listeners: number;
}

/** Lists the channels with listeners; see find-channels.lua. A channel with listeners at several masters is listed several times. */
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

/** The progress of a scan through a server's keys. */
export interface ScanPlace {
  /** The server's run id; "" if it does not tell. */
  readonly runId: string;
  /** "0": the scan is complete. */
  readonly cursor: string;
}

/** One step of a server's scan. */
export interface ScanStep extends ScanPlace {
  readonly keys: readonly string[];
  /** How many keys had names that are not UTF-8. */
  readonly unreadable: number;
}

interface ScanInput {
  /** About how many keys each server scans. */
  readonly count: number;
  /** The servers' progress after their last steps. */
  readonly places: readonly ScanPlace[];
}

/** Scans the keys of all servers, step by step; see find-hashes.lua. */
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

/** The stored state of a key that was found, in bounded size. */
export interface FoundRecord extends Omit<LockRecord, "permits" | "waitingClientCount"> {
  /** For a semaphore or latch; null if the key is not a count. */
  readonly permits: FoundPermits | null;
  /** What `waitingClients` wait for. */
  readonly waitsFor: "lock" | "write" | "permits";
  /** How many holders are not listed in `fields`, and how many waiters are not listed in `queue` and `waitingClients`. */
  readonly more: { readonly holders: number; readonly waiting: number };
}

export interface FoundPermits {
  /** The stored count, which does not include permits with expired leases. */
  readonly count: number;
  /** The leased permits; undefined if there are none. */
  readonly leases?: {
    readonly expired: number;
    readonly taken: number;
    /** How many of the taken permits are permanent. */
    readonly permanent: number;
    /** The permits that end last, at most 1,000; empty for a semaphore with more than 10,000 permits. */
    readonly last: readonly LeasedPermit[];
  };
}

interface LookAtLocks {
  readonly locks: readonly string[];
  /** Whether the waiting clients are read too. */
  readonly withClients: boolean;
}

/** Reads the stored state of keys that may be locks. May answer only the first keys, but at least one; see lock-inspect-many.lua. */
export const lockInspectMany: Script<LookAtLocks, readonly FoundRecord[]> = defineScript({
  source: scripts.lockInspectMany,
  keys: ({ locks, withClients }) =>
    locks.flatMap((key) => {
      const keys = [key, fairQueueKey(key), fencingTokenKey(key), permitLeasesKey(key)];
      return withClients ? [...keys, waitingKey(key), writersQueueKey(key)] : keys;
    }),
  args: ({ withClients }) => [withClients ? "all" : "fewer"],
  reply(records) {
    // The caller asks again for the remaining keys: if no answer had a record, it would ask for ever.
    if (records.length === 0) throw unexpected("at least one lock", []);
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
