import {
  CAPPED,
  HANDED_OFF,
  ID_DIGITS,
  MOST_HELD,
  MOST_IDS,
  MOST_STATS,
  PERMANENT,
  RENEWED,
} from "./live-format.js";
import { LONGEST_HOST } from "./meta.js";
import { LONGEST_APP, LONGEST_LABEL, LONGEST_LABEL_KEY, MOST_LABELS } from "./presence-options.js";

/** A lock, or permits, that a client claims to hold. */
export interface PresentHold {
  /** The key in Redis, or the text that `redact` made of it. */
  readonly key: string;
  /** The kind, as in events: `fair-lock`. */
  readonly kind: string;
  /** The number behind the client id in the holder; 0 for permits. */
  readonly threadId: number;
  /** The hold count, or the number of permits. */
  readonly count: number;
  /** Milliseconds since it was acquired. */
  readonly ageMs: number;
  /** Whether the watchdog renews the hold. */
  readonly renewed: boolean;
  /** Whether another call of the same client handed it over. */
  readonly handedOff: boolean;
  /** Whether `maxHoldMs` ends the hold. */
  readonly capped: boolean;
  /** Whether it never ends by itself, like permits without a lease or of a plain semaphore. */
  readonly permanent: boolean;
  /** The note that the program gave, or null. */
  readonly note: string | null;
  /** For leased permits: the first 16 digits of each id, for at most 64 ids. */
  readonly ids: readonly string[];
}

/** A lock, permits or a latch that a call of a client waits for. */
export interface PresentWait {
  readonly key: string;
  readonly kind: string;
  /** Milliseconds since the call. */
  readonly ageMs: number;
  /** The note of the program for the hold that it wants, or null. */
  readonly note: string | null;
}

/** The results of calls for one lock or semaphore between the last two beats of a client, except calls that acquired it at once. */
export interface PresentStats {
  readonly key: string;
  readonly kind: string;
  /** How many acquired it after a wait. */
  readonly waited: number;
  /** How many ended without it, because it was not free in time: with the outcome `refused` or `timeout`. */
  readonly notAcquired: number;
  /** How many holds were lost. */
  readonly losses: number;
  /** How long these calls waited in total, and the longest of them, in milliseconds. */
  readonly waitMsSum: number;
  readonly waitMsMax: number;
}

/** A hold that a client has lost. */
export interface PresentLoss {
  readonly key: string;
  /** As `LeaseLostError.reason`. */
  readonly reason: string;
  /** Milliseconds since the loss was noticed. */
  readonly agoMs: number;
}

/** A client's claim about itself. */
export interface Meta {
  readonly app: string;
  readonly host: string | null;
  readonly pid: number | null;
  readonly startedMs: number | null;
  readonly lib: string;
  readonly runtime: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** A client's claim about its holds and waits. */
export interface Live {
  readonly holds: readonly PresentHold[];
  readonly waits: readonly PresentWait[];
  readonly stats: readonly PresentStats[];
  readonly acquired: number;
  readonly lost: readonly PresentLoss[];
  readonly more: { readonly holds: number; readonly waits: number; readonly stats: number };
}

const LONGEST_WORD = 64;
const LONGEST_NOTE = 200;
const MOST_LOSSES = 10;

const NO_META: Meta = { app: "", host: null, pid: null, startedMs: null, lib: "", runtime: "", labels: {} };
const NO_LIVE: Live = {
  holds: [],
  waits: [],
  stats: [],
  acquired: 0,
  lost: [],
  more: { holds: 0, waits: 0, stats: 0 },
};

type Claims = Readonly<Record<string, unknown>>;

/** The valid parts of the text; invalid parts are ignored. Any program that can write to Redis may have written the text. */
export function readMeta(json: string): Meta {
  const claims = parsed(json);
  if (claims === undefined) return NO_META;
  const { app, host, pid, startedMs, lib, runtime, labels } = claims;
  return {
    app: word(app, LONGEST_APP) ?? "",
    host: word(host, LONGEST_HOST) ?? null,
    pid: count(pid) ?? null,
    startedMs: count(startedMs) ?? null,
    lib: word(lib, LONGEST_WORD) ?? "",
    runtime: word(runtime, LONGEST_WORD) ?? "",
    labels: Object.fromEntries(
      Object.entries(record(labels) ?? {})
        .flatMap(([key, value]) => {
          const label = word(value, LONGEST_LABEL);
          return label === undefined || key.length > LONGEST_LABEL_KEY ? [] : [[key, label] as const];
        })
        .slice(0, MOST_LABELS),
    ),
  };
}

/** As {@link readMeta}. */
export function readLive(json: string): Live {
  const claims = parsed(json);
  if (claims === undefined) return NO_LIVE;
  const more = record(claims["more"]) ?? {};
  return {
    holds: entries(claims["holds"], MOST_HELD, readHold),
    waits: entries(claims["waits"], MOST_HELD, readWait),
    stats: entries(claims["stats"], MOST_STATS, readStats),
    acquired: count(claims["acquired"]) ?? 0,
    lost: entries(claims["lost"], MOST_LOSSES, readLoss),
    more: {
      holds: count(more["holds"]) ?? 0,
      waits: count(more["waits"]) ?? 0,
      stats: count(more["stats"]) ?? 0,
    },
  };
}

/** Reads a count, or a number of milliseconds, from text. */
export function readCount(text: string): number | undefined {
  return /^\d{1,16}$/.test(text) ? count(Number(text)) : undefined;
}

function readHold([key, kind, threadId, held, ageMs, flags, note, ids]: readonly unknown[]):
  | PresentHold
  | undefined {
  const numbers = [count(threadId), count(held), count(ageMs), count(flags)] as const;
  const [number, times, age, bits] = numbers;
  const [of, kindName] = [text(key), word(kind, LONGEST_WORD)];
  if (of === undefined || kindName === undefined || number === undefined || times === undefined)
    return undefined;
  if (age === undefined || bits === undefined) return undefined;
  return {
    key: of,
    kind: kindName,
    threadId: number,
    count: times,
    ageMs: age,
    renewed: (bits & RENEWED) > 0,
    handedOff: (bits & HANDED_OFF) > 0,
    capped: (bits & CAPPED) > 0,
    permanent: (bits & PERMANENT) > 0,
    note: word(note, LONGEST_NOTE) ?? null,
    ids: Array.isArray(ids) ? ids.slice(0, MOST_IDS).filter(isStartOfId) : [],
  };
}

function readWait([key, kind, ageMs, note]: readonly unknown[]): PresentWait | undefined {
  const [of, kindName, age] = [text(key), word(kind, LONGEST_WORD), count(ageMs)];
  if (of === undefined || kindName === undefined || age === undefined) return undefined;
  return { key: of, kind: kindName, ageMs: age, note: word(note, LONGEST_NOTE) ?? null };
}

function readStats([key, kind, ...numbers]: readonly unknown[]): PresentStats | undefined {
  const [waited, notAcquired, losses, waitMsSum, waitMsMax] = numbers.map(count);
  const [of, kindName] = [text(key), word(kind, LONGEST_WORD)];
  if (of === undefined || kindName === undefined || waited === undefined || notAcquired === undefined)
    return undefined;
  if (losses === undefined || waitMsSum === undefined || waitMsMax === undefined) return undefined;
  return { key: of, kind: kindName, waited, notAcquired, losses, waitMsSum, waitMsMax };
}

function readLoss([key, reason, agoMs]: readonly unknown[]): PresentLoss | undefined {
  const [of, why, ago] = [text(key), word(reason, LONGEST_WORD), count(agoMs)];
  return of === undefined || why === undefined || ago === undefined
    ? undefined
    : { key: of, reason: why, agoMs: ago };
}

function entries<T>(
  list: unknown,
  most: number,
  read: (entry: readonly unknown[]) => T | undefined,
): readonly T[] {
  if (!Array.isArray(list)) return [];
  return list.slice(0, most).flatMap((entry: unknown) => {
    const found = Array.isArray(entry) ? read(entry) : undefined;
    return found === undefined ? [] : [found];
  });
}

function parsed(json: string): Claims | undefined {
  try {
    return record(JSON.parse(json));
  } catch {
    return undefined;
  }
}

function record(value: unknown): Claims | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Claims) : undefined;
}

const START_OF_ID = new RegExp(`^[0-9a-f]{${ID_DIGITS}}$`);

function isStartOfId(value: unknown): value is string {
  return typeof value === "string" && START_OF_ID.test(value);
}

/** A key. Keys may be as long as the whole text. */
function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function word(value: unknown, most: number): string | undefined {
  return typeof value === "string" && value.length <= most ? value : undefined;
}

function count(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}
