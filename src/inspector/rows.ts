import { createHash } from "node:crypto";
import type { ClientPresence, ClientRef } from "../index.js";
import type { WatchedLock } from "../watch/index.js";
import type { ClientRow, LockRow } from "./format.js";

/** How many entries of each list a row of the feed has; `?lock=` answers all. */
const MOST_ENTRIES = 20;
/** By how much the same moment, as two looks reckon it, may differ. */
const TOLERANCE_MS = 1_000;

interface HolderCount {
  readonly holder: string;
  readonly count: number;
}

/** SHA-256 in base64url. */
export const DIGEST: RegExp = /^[\w-]{43}$/;

/**
 * What a free has to name: the key with its holders and how often each has it, in any order.
 * @param numbers of a semaphore, which is no lock to be freed: another digest says that there is something to look at
 */
export function digestOf(
  key: string,
  holders: readonly HolderCount[],
  numbers: readonly (number | string)[] = [],
): string {
  const counts = holders.map(({ holder, count }) => `${holder} ${count}`).sort();
  return createHash("sha256")
    .update(JSON.stringify(numbers.length === 0 ? [key, counts] : [key, counts, numbers]))
    .digest("base64url");
}

/** All that is known of a lock. */
export function rowOf({ token, ...lock }: WatchedLock): LockRow {
  const { key, holders, available, takenCount = 0 } = lock;
  const ids = holders.flatMap(({ permitIds = [] }) => permitIds);
  const seen = digestOf(key, holders, available === undefined ? [] : [available, takenCount, ...ids]);
  return { ...lock, token: token === null ? null : String(token), seen };
}

/** As the feed tells it: with the first entries of each list. */
export function shortRow(row: LockRow): LockRow {
  const { holders, waiting, more } = row;
  const hasIds = holders.some(({ permitIds }) => permitIds !== undefined);
  if (holders.length <= MOST_ENTRIES && waiting.length <= MOST_ENTRIES && !hasIds) return row;
  return {
    ...row,
    holders: holders.slice(0, MOST_ENTRIES).map(({ permitIds: _, ...holder }) => holder),
    waiting: waiting.slice(0, MOST_ENTRIES),
    more: {
      holders: more.holders + Math.max(0, holders.length - MOST_ENTRIES),
      waiting: more.waiting + Math.max(0, waiting.length - MOST_ENTRIES),
    },
  };
}

/** The same some time later, as far as nothing has changed. */
export function laterRow(row: LockRow, byMs: number): LockRow {
  if (byMs === 0) return row;
  const older = (ms: number | null) => (ms === null ? null : Math.max(0, ms + byMs));
  const olderRef = (client: ClientRef | null) => client && laterSeen(client, byMs);
  const { ttlMs, holders, waiting } = row;
  return {
    ...row,
    ttlMs: ttlMs < 0 ? ttlMs : Math.max(0, ttlMs - byMs),
    holders: holders.map((each) => ({
      ...each,
      sinceMs: older(each.sinceMs),
      client: olderRef(each.client),
    })),
    waiting: waiting.map((each) => ({ ...each, forMs: older(each.forMs), client: olderRef(each.client) })),
  };
}

export function laterClient(client: ClientRow, byMs: number): ClientRow {
  if (byMs === 0) return client;
  const older = <T extends { readonly ageMs: number }>(of: T) => ({ ...of, ageMs: of.ageMs + byMs });
  const { holds, waits } = client;
  return { ...laterSeen(client, byMs), holds: holds.map(older), waits: waits.map(older) };
}

function laterSeen<T extends { readonly lastSeenMs: number }>(client: T, byMs: number): T {
  return { ...client, lastSeenMs: Math.max(0, client.lastSeenMs + byMs) };
}

export function clientRow({ stats: _, lost: __, acquired: ___, ...client }: ClientPresence): ClientRow {
  const { holds, waits, more } = client;
  return {
    ...client,
    holds: holds.slice(0, MOST_ENTRIES),
    waits: waits.slice(0, MOST_ENTRIES),
    more: {
      ...more,
      holds: more.holds + Math.max(0, holds.length - MOST_ENTRIES),
      waits: more.waits + Math.max(0, waits.length - MOST_ENTRIES),
    },
  };
}

/** A row as it was sent: its text apart from the times, and the moments that these mean. */
export interface Print {
  readonly text: string;
  readonly momentsMs: readonly number[];
}

export function lockPrint(row: LockRow, atMs: number): Print {
  const { ttlMs, holders, waiting } = row;
  const momentsMs = [ttlMs < 0 ? ttlMs : atMs + ttlMs];
  const before = (ms: number | null) => {
    if (ms !== null) momentsMs.push(atMs - ms);
    return ms === null;
  };
  const text = JSON.stringify({
    ...row,
    ttlMs: 0,
    holders: holders.map((each) => ({
      ...each,
      sinceMs: before(each.sinceMs),
      client: refPrint(each.client, before),
    })),
    waiting: waiting.map((each) => ({
      ...each,
      forMs: before(each.forMs),
      client: refPrint(each.client, before),
    })),
  });
  return { text, momentsMs };
}

export function clientPrint(client: ClientRow, atMs: number): Print {
  const momentsMs: number[] = [];
  const before = (ms: number) => {
    momentsMs.push(atMs - ms);
    return 0;
  };
  const aged = <T extends { readonly ageMs: number }>(of: T) => ({ ...of, ageMs: before(of.ageMs) });
  const text = JSON.stringify({
    ...client,
    lastSeenMs: client.state === "gone" ? before(client.lastSeenMs) : 0,
    holds: client.holds.map(aged),
    waits: client.waits.map(aged),
  });
  return { text, momentsMs };
}

/** That a client which is there has told of itself once more is no news. */
function refPrint(client: ClientRef | null, before: (ms: number) => boolean): object | null {
  if (client === null) return null;
  return { ...client, lastSeenMs: client.state === "gone" && before(client.lastSeenMs) };
}

/** Whether two prints differ in nothing but the time that has passed. */
export function areAlike(one: Print, other: Print): boolean {
  return (
    one.text === other.text &&
    one.momentsMs.every((ms, at) => Math.abs(ms - (other.momentsMs[at] ?? 0)) < TOLERANCE_MS)
  );
}
