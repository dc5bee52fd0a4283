import type { Fleet, ListedLock, TakenPermit } from "../index.js";
import type { LockChange, LockFlag } from "../watch/index.js";

/**
 * The messages between the inspector's page and its server. All of them are JSON, and may have data of strangers.
 *
 * Queries of GET: none (the page), `?asset=<name>`, `?me`, `?lock=<key>`, and `?feed` or `?snapshot`, each with `&match=<glob on names>`,
 * `&sort=waiting|age|name` (default: waiting, then age) and `&only=waited,stale,jvm` (locks with all of these properties). Queries of POST:
 * `?free=<key>` with `&reason=<text>` and the header `holdfast-seen: <digest>`; `?release=<key>` with the same and the header
 * `holdfast-permits: <id>,…`, 100 at most; `?scan` with the header `holdfast-scan: 1`, answered 202, or 409 while one runs. A failure is
 * answered by a {@link Refusal}, with 400, 401, 403, 404, 429 or 503.
 *
 * Ages and TTLs are as of the moment `atMs` of their message, on the server's clock. A row is sent again when something differs except the
 * time that has passed; another beat of a present client is not a difference.
 */

/** Whatever was refused. */
export interface Refusal {
  readonly error: string;
  /** Whether surely nothing was changed. Default: true for each status below 500. */
  readonly nothingDone?: boolean;
}

/** A lock as the feed tells it. */
export interface LockRow extends Omit<ListedLock, "token"> {
  /** As text, because it may exceed the numbers of JSON. */
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
  /** The limits of this Redis user's view, as sentences. */
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
  /** Holders without presence, and how many of them are JVMs. */
  readonly unknown: number;
  readonly jvms: number;
}

/** Ten seconds of the whole fleet, summed from the reports of presence. */
export interface Point {
  readonly atMs: number;
  /** Calls that wait at the end of these ten seconds. */
  readonly waiting: number;
  readonly acquired: number;
  /** Calls that had to wait. */
  readonly contentions: number;
  /** The longest wait that has ended or is going on. */
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
  /**
   * How many locks it has found so far. They are listed in the state that it saw, for a minute after its end, or until their TTL is over.
   */
  readonly found: number;
  /** Why the search has failed, or has ended before it had read all keys. */
  readonly reason: string | null;
}

/** `event: snapshot`, the first message of each feed, and the answer to `?snapshot`. */
export interface FeedSnapshot {
  readonly atMs: number;
  /** 200 at most, and half a mebibyte, in the order asked for; each with 20 holders, without the ids of their permits, and 20 waiters at most, the rest counted by `more`. */
  readonly locks: readonly LockRow[];
  /** How many locks match `match` and `only` but are left out. */
  readonly more: number;
  /** At most 500, and half a mebibyte; clients that are gone come first. */
  readonly clients: readonly ClientRow[];
  readonly totals: Totals;
  readonly history: readonly Point[];
  readonly events: readonly FeedEvent[];
  /** Since when Redis does not answer, and why; null while it answers. */
  readonly away: Away | null;
  readonly scan: ScanProgress | null;
  /** As in {@link Me}: it may be known only after the first look. */
  readonly blind: readonly string[];
}

/** `event: change`: only the differences from the last message. */
export interface Change {
  readonly atMs: number;
  readonly put: readonly LockRow[];
  /** Keys that are no longer listed. */
  readonly gone: readonly string[];
  readonly more: number;
  /** Clients that differ, and the ids of clients that are no longer listed. */
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

/** `event: event`: an event for people. The server remembers 500. */
export interface FeedEvent {
  /** Grows by one with each. */
  readonly id: number;
  readonly atMs: number;
  readonly type: "lost" | "forced" | "gone" | "stale" | "redis-away" | "redis-back";
  readonly key?: string;
  /** For people: `billing@web-7 pid 3121`. */
  readonly client?: string;
  /** For people as well, with the stored holder. */
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
  /** Its latest state, with all reported holders and waiters, up to 1 000 of each; null when it is no longer listed. */
  readonly lock: LockRow | null;
  /** The permits of a permit-expirable semaphore that are out; null if they could not be read, absent for other kinds. */
  readonly permits?: readonly TakenPermit[] | null;
  /** The shell line that frees the lock as shown, or gives back the permits of clients that are gone; null if there is none. */
  readonly unlock: string | null;
  /** The latest changes of the lock that the feed has seen, the newest first. */
  readonly changes: readonly {
    readonly atMs: number;
    readonly type: LockChange["type"] | "forced";
    /** In English. */
    readonly text: string;
  }[];
}

/** Answer to `POST ?free=<key>` and `POST ?release=<key>`. */
export interface Freed {
  /** For permits: they are available again; all were back already; some were back, and nothing was done. */
  readonly outcome: "released" | "absent" | "changed";
  /** For a lock that has changed: its present holders, for people. */
  readonly now: string | null;
}
