import { createHash } from "node:crypto";
import type { ClientPresence, ClientRef } from "../index.js";
import type { WatchedLock } from "../watch/index.js";
import type { ClientRow, LockRow } from "./format.js";

/** How many entries of each list a row of the feed has; `?lock=` returns all. */
const MOST_ENTRIES = 20;
/** How much two estimates of the same moment may differ, when they come from different looks. */
const TOLERANCE_MS = 1_000;

interface HolderCount {
  readonly holder: string;
  readonly count: number;
}

/** SHA-256 in base64url. */
export const DIGEST: RegExp = /^[\w-]{43}$/;

/**
 * The text that a free must confirm: the key, and its holders with their hold counts, in any order.
 * @param numbers the numbers of a semaphore. A semaphore cannot be freed: its digest only tells the page when to read the details again
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

/** A lock as a row, with everything that is known about it. */
export function rowOf({ token, ...lock }: WatchedLock): LockRow {
  const { key, holders, available, takenCount = 0 } = lock;
  const ids = holders.flatMap(({ permitIds = [] }) => permitIds);
  const seen = digestOf(key, holders, available === undefined ? [] : [available, takenCount, ...ids]);
  return { ...lock, token: token === null ? null : String(token), seen };
}

/** The row in a feed, which has only the first entries of each list. */
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

/** The lock some time later, if nothing has changed but the time. */
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

/** A row as it was sent: its text without times, and the moments that the times stand for. */
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

/** Another beat of a present client is not a change. */
function refPrint(client: ClientRef | null, before: (ms: number) => boolean): object | null {
  if (client === null) return null;
  return { ...client, lastSeenMs: client.state === "gone" && before(client.lastSeenMs) };
}

/** Whether two prints differ only by the time that has passed. */
export function areAlike(one: Print, other: Print): boolean {
  return (
    one.text === other.text &&
    one.momentsMs.every((ms, at) => Math.abs(ms - (other.momentsMs[at] ?? 0)) < TOLERANCE_MS)
  );
}
