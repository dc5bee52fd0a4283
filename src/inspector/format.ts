import type { Fleet, ListedLock, TakenPermit } from "../index.js";
import type { LockChange, LockFlag } from "../watch/index.js";

/**
 * What the page of the inspector and its server say to each other: everything is JSON, and data of strangers.
 *
 * Queries of GET: none (the page), `?asset=<name>`, `?me`, `?lock=<key>`, and `?feed` or `?snapshot`, each with `&match=<glob on names>`,
 * `&sort=waiting|age|name` (default: waiting, then age) and `&only=waited,stale,jvm` (those that are all of it). Of POST: `?free=<key>`
 * with `&reason=<text>` and the header `holdfast-seen: <digest>`; `?release=<key>` with the same and the header `holdfast-permits: <id>,…`,
 * 100 at most; `?scan` with the header `holdfast-scan: 1`, answered 202, or 409 while one runs. What fails is answered by {@link Refusal}, with 400, 401, 403, 404, 429 or 503.
 *
 * Ages and TTLs are those of the moment `atMs` of the message that brought them, on the server's clock. A row is sent again when something
 * differs except the time that has passed; another beat of a client that is there is not a difference.
 */

/** Whatever was refused. */
export interface Refusal {
  readonly error: string;
  /** Whether nothing was changed for certain. Default: true of each status below 500. */
  readonly nothingDone?: boolean;
}

/** A lock as the feed tells it. */
export interface LockRow extends Omit<ListedLock, "token"> {
  /** As text, since it may be larger than a number of JSON holds. */
  readonly token: string | null;
  readonly flags: readonly LockFlag[];
  /** SHA-256 of its key and holders with counts, base64url. A free must name it, so that it frees only the holders that were seen. */
  readonly seen: string;
}

/** Answer to `?me`. */
export interface Me {
  readonly role: "read" | "operate";
  readonly actor: string | null;
  readonly title: string;
  /** Without credentials. */
  readonly server: string;
  readonly redis: string | null;
  readonly holdfast: string;
  readonly refreshMs: number;
  readonly links: { readonly client: string | null; readonly trace: string | null };
  /** What this user of Redis can not see, as sentences. */
  readonly blind: readonly string[];
}

/** Numbers of the whole fleet at one moment. */
export interface Totals {
  /** Locks that are held. */
  readonly held: number;
  /** Calls that wait. */
  readonly waiting: number;
  /** Clients that are there. */
  readonly clients: number;
  /** Clients that are gone. */
  readonly gone: number;
  /** Holders without presence, and how many of these are JVMs. */
  readonly unknown: number;
  readonly jvms: number;
}

/** Ten seconds of the whole fleet, summed from what presence tells. */
export interface Point {
  readonly atMs: number;
  /** Calls that wait at its end. */
  readonly waiting: number;
  readonly acquired: number;
  /** Calls that had to wait. */
  readonly contentions: number;
  /** The longest wait that ended or goes on. */
  readonly longestMs: number;
  readonly losses: number;
  /** The names with most waiting calls, five at most. */
  readonly busiest: readonly { readonly key: string; readonly waiting: number }[];
}

/** A client of the fleet, in the list of clients: with 20 holds and 20 waits at most, the rest counted by `more`. */
export type ClientRow = Omit<Fleet["clients"][number], "stats" | "lost" | "acquired">;

/** A search through all keys, which `POST ?scan` has begun. */
export interface ScanProgress {
  readonly state: "running" | "done" | "failed";
  readonly startedMs: number;
  /** How many locks it has found so far. They are listed, as it saw them, for a minute after its end, or until their TTL is over. */
  readonly found: number;
  /** Why it has failed, or has ended before all keys were gone through. */
  readonly reason: string | null;
}

/** `event: snapshot`, the first of each feed, and the answer to `?snapshot`. */
export interface FeedSnapshot {
  readonly atMs: number;
  /** 200 at most, and half a mebibyte, in the order asked for; each with 20 holders, without the ids of their permits, and 20 waiters at most, the rest counted by `more`. */
  readonly locks: readonly LockRow[];
  /** How many locks that fit `match` and `only` are not among them. */
  readonly more: number;
  /** 500 at most, and half a mebibyte, those that are gone first. */
  readonly clients: readonly ClientRow[];
  readonly totals: Totals;
  readonly history: readonly Point[];
  readonly events: readonly FeedEvent[];
  /** Since when Redis does not answer, and why; null while it does. */
  readonly away: Away | null;
  readonly scan: ScanProgress | null;
  /** As in {@link Me}: it may show only after the first look. */
  readonly blind: readonly string[];
}

/** `event: change`: only the differences from the last message. */
export interface Change {
  readonly atMs: number;
  readonly put: readonly LockRow[];
  /** Keys that are no longer listed. */
  readonly gone: readonly string[];
  readonly more: number;
  /** Clients that differ, and the ids of those that are no longer listed. */
  readonly clients: { readonly put: readonly ClientRow[]; readonly gone: readonly string[] };
  readonly totals: Totals;
  /** Set when ten seconds have passed. */
  readonly point?: Point;
  readonly away: Away | null;
  readonly scan: ScanProgress | null;
  readonly blind: readonly string[];
}

export interface Away {
  readonly sinceMs: number;
  readonly reason: string;
}

/** `event: event`: something to be told, 500 of which are remembered. */
export interface FeedEvent {
  /** Grows by one with each. */
  readonly id: number;
  readonly atMs: number;
  readonly type: "lost" | "forced" | "gone" | "stale" | "redis-away" | "redis-back";
  readonly key?: string;
  /** For people: `billing@web-7 pid 3121`. */
  readonly client?: string;
  /** For people as well, with the holder as it is stored. */
  readonly holder?: string;
  readonly reason?: string;
  readonly actor?: string;
  /** How many permits were given back by force. Absent for a lock. */
  readonly permits?: number;
}

/** Answer to `?lock=<key>`. It says nothing about a key that the feed has never listed. */
export interface LockDetail {
  /** On the server's clock. */
  readonly atMs: number;
  /** As it was seen last, with all holders and waiters that are told, up to 1 000 of both; null when it is not listed any more. */
  readonly lock: LockRow | null;
  /** The permits of a permit-expirable semaphore that are out; null where they could not be read, absent for all else. */
  readonly permits?: readonly TakenPermit[] | null;
  /** The shell line that frees the lock as shown, or gives back the permits of clients that are gone; null if there is none. */
  readonly unlock: string | null;
  /** The latest changes that the feed has seen of it, the newest first. */
  readonly changes: readonly {
    readonly atMs: number;
    readonly type: LockChange["type"] | "forced";
    /** In English. */
    readonly text: string;
  }[];
}

/** Answer to `POST ?free=<key>` and `POST ?release=<key>`. */
export interface Freed {
  /** Of permits: they are available again; none of them was out any more; some were not, and nothing was done. */
  readonly outcome: "released" | "absent" | "changed";
  /** Of a lock that has changed: who has it now, for people. */
  readonly now: string | null;
}
