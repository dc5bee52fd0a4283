import type { CallStats } from "../runtime/tally.js";

/** In bytes. A longer text is not read. */
export const MOST_LIVE_BYTES = 16_384;
/** Room for the names of the parts, and for the numbers outside the entries. */
const FRAME_BYTES = 256;
export const MOST_HELD = 200;
export const MOST_STATS = 50;

/** The meaning of each bit in the flags of a hold. */
export const RENEWED = 1;
export const HANDED_OFF = 2;
export const CAPPED = 4;
export const PERMANENT = 8;

/** How many digits of a permit's id a report has: enough to find the permit in Redis, and too few to give it back. */
export const ID_DIGITS = 16;
/** How many ids a report has for the permits of one hold. */
export const MOST_IDS = 64;

/** A held lock, or permits that one call has taken. */
export interface HeldNow {
  readonly key: string;
  readonly kind: string;
  /** The thread id in the holder; 0 for permits. */
  readonly threadId: number;
  /** The hold count, or the number of permits. */
  readonly count: number;
  /** On the monotonic clock. */
  readonly sinceMs: number;
  readonly renewed: boolean;
  readonly handedOff: boolean;
  readonly capped: boolean;
  /** Whether it never ends by itself, like permits without a lease or of a plain semaphore. */
  readonly permanent: boolean;
  readonly note: string | undefined;
  /** The ids of leased permits; empty for all other holds. */
  readonly ids: readonly string[];
}

export interface WaitsNow {
  readonly key: string;
  readonly kind: string;
  /** On the monotonic clock. */
  readonly sinceMs: number;
  readonly note: string | undefined;
}

/** A client's holds, waits and statistics. */
export interface Activity {
  /** How many locks and permits it has acquired since the last beat. */
  readonly acquired: number;
  /** The longest first. */
  readonly holds: readonly HeldNow[];
  /** The longest first. */
  readonly waits: readonly WaitsNow[];
  readonly stats: readonly CallStats[];
  readonly lost: readonly { readonly key: string; readonly reason: string; readonly sinceMs: number }[];
  /** How many entries the lists leave out. */
  readonly more: { readonly holds: number; readonly waits: number; readonly stats: number };
}

/** An activity in its stored form. */
export interface LiveText {
  readonly json: string;
  /** The text without its times: equal for two activities that differ only by the time that has passed. */
  readonly print: string;
}

/** The entries that still fit into the text. */
class Entries {
  readonly texts: string[] = [];
  readonly prints: string[] = [];

  /** @returns how many bytes it takes; 0 when it does not fit */
  add(roomBytes: number, told: readonly unknown[], print: readonly unknown[]): number {
    const text = JSON.stringify(told);
    const bytes = Buffer.byteLength(text) + 1;
    if (bytes > roomBytes) return 0;
    this.texts.push(text);
    this.prints.push(JSON.stringify(print));
    return bytes;
  }
}

/**
 * Writes down an activity in at most {@link MOST_LIVE_BYTES}: losses first, then holds and waits, the longest first, then the statistics,
 * the longest waits first.
 * @param nowMs on the monotonic clock
 */
export function encodeLive(activity: Activity, nowMs: number): LiveText {
  const [holds, waits, stats, lost] = [new Entries(), new Entries(), new Entries(), new Entries()];
  let roomBytes = MOST_LIVE_BYTES - FRAME_BYTES;
  const put = (entries: Entries, sinceMs: number, tuple: (ageMs: number) => readonly unknown[]) => {
    const ageMs = Math.max(0, Math.round(nowMs - sinceMs));
    roomBytes -= entries.add(roomBytes, tuple(ageMs), tuple(sinceMs));
  };
  for (const { key, reason, sinceMs } of activity.lost) put(lost, sinceMs, (agoMs) => [key, reason, agoMs]);
  const held = activity.holds.slice(0, MOST_HELD).map((hold) => ({ hold, sinceMs: hold.sinceMs }));
  const awaited = activity.waits.slice(0, MOST_HELD).map((wait) => ({ wait, sinceMs: wait.sinceMs }));
  for (const entry of [...held, ...awaited].sort((a, b) => a.sinceMs - b.sinceMs)) {
    if ("hold" in entry) put(holds, entry.sinceMs, (ageMs) => holdTuple(entry.hold, ageMs));
    else put(waits, entry.sinceMs, (ageMs) => waitTuple(entry.wait, ageMs));
  }
  const byWait = activity.stats.toSorted((a, b) => b.waitMsSum - a.waitMsSum);
  for (const each of byWait.slice(0, MOST_STATS)) {
    const { key, kind, waited, notAcquired, losses } = each;
    const times = [Math.round(each.waitMsSum), Math.round(each.waitMsMax)];
    put(stats, 0, () => [key, kind, waited, notAcquired, losses, ...times]);
  }
  const more = {
    holds: activity.more.holds + activity.holds.length - holds.texts.length,
    waits: activity.more.waits + activity.waits.length - waits.texts.length,
    stats: activity.more.stats + activity.stats.length - stats.texts.length,
  };
  const written = (of: (entries: Entries) => readonly string[]) =>
    `{"acquired":${activity.acquired},"holds":[${of(holds)}],"waits":[${of(waits)}],"stats":[${of(stats)}],` +
    `"lost":[${of(lost)}],"more":${JSON.stringify(more)}}`;
  return { json: written(({ texts }) => texts), print: written(({ prints }) => prints) };
}

function holdTuple(hold: HeldNow, ageMs: number): readonly unknown[] {
  const { key, kind, threadId, count, renewed, handedOff, capped, permanent, note = null, ids } = hold;
  const flags =
    (renewed ? RENEWED : 0) |
    (handedOff ? HANDED_OFF : 0) |
    (capped ? CAPPED : 0) |
    (permanent ? PERMANENT : 0);
  const tuple = [key, kind, threadId, count, ageMs, flags];
  if (ids.length > 0) return [...tuple, note, ids.slice(0, MOST_IDS).map((id) => id.slice(0, ID_DIGITS))];
  return note === null ? tuple : [...tuple, note];
}

function waitTuple({ key, kind, note }: WaitsNow, ageMs: number): readonly unknown[] {
  return note === undefined ? [key, kind, ageMs] : [key, kind, ageMs, note];
}
