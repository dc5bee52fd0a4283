import type { Fleet, ListedLock, TakenPermit } from "../index.js";
import type { LockChange, LockFlag } from "../watch/index.js";

/**
 * The messages between the inspector's page and its server. All of them are JSON, and may contain text that strangers wrote.
 *
 * Queries of GET:
 * - none: the page; `?asset=<name>`; `?me`; `?lock=<key>`
 * - `?feed` or `?snapshot`, each with `&match=<glob on names>`, `&sort=waiting|age|name` (default: waiting, then age) and
 *   `&only=waited,stale,jvm` (locks with all of these properties)
 *
 * Queries of POST:
 * - `?free=<key>` with `&reason=<text>` and the header `holdfast-seen: <digest>`
 * - `?release=<key>` with `&reason=<text>` and the header `holdfast-permits: <id>,…`, at most 100 ids
 * - `?scan` with the header `holdfast-scan: 1`, answered 202, or 409 while a scan runs
 *
 * A failure is answered by a {@link Refusal}, with 400, 401, 403, 404, 429 or 503.
 *
 * Ages and TTLs are those at the moment `atMs` of their message, on the server's clock. A row is sent again only when it has changed. Ages
 * that grow, TTLs that fall, and further beats of a present client are not changes.
 */

/** Whatever was refused. */
export interface Refusal {
  readonly error: string;
  /** Whether it is certain that nothing was changed. Default: true for each status below 500. */
  readonly nothingDone?: boolean;
}

/** A lock in the form that the feed sends. */
export interface LockRow extends Omit<ListedLock, "token"> {
  /** As text, because it may be too large for a JSON number. */
  readonly token: string | null;
  readonly flags: readonly LockFlag[];
  /**
   * SHA-256, in base64url, of the key and of the holders with their hold counts. `?free` names it, to free only the holders that were seen.
   */
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
  /** Sentences about what this Redis user cannot see. */
  readonly blind: readonly string[];
}

/** Numbers of the whole fleet at one moment. */
export interface Totals {
  /** Locks that are held. */
  readonly held: number;
  /** Calls that wait. */
  readonly waiting: number;
  /** Clients that are not gone. */
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
  /** The longest wait, whether it has ended or is going on. */
  readonly longestMs: number;
  readonly losses: number;
  /** The names with most waiting calls, five at most. */
  readonly busiest: readonly { readonly key: string; readonly waiting: number }[];
}

/** A client of the fleet, in the list of clients. It has at most 20 holds and 20 waits; `more` counts the others. */
export type ClientRow = Omit<Fleet["clients"][number], "stats" | "lost" | "acquired">;

/** A search through all keys, which `POST ?scan` has begun. */
export interface ScanProgress {
  readonly state: "running" | "done" | "failed";
  readonly startedMs: number;
  /**
   * How many locks the search has found so far. They are listed as the search saw them, until a minute after its end, or until their TTL is
   * over.
   */
  readonly found: number;
  /** Why the search has failed, or has ended before it had read all keys. */
  readonly reason: string | null;
}

/** `event: snapshot`, the first message of each feed, and the answer to `?snapshot`. */
export interface FeedSnapshot {
  readonly atMs: number;
  /**
   * At most 200 locks and half a mebibyte, in the requested order. Each has at most 20 holders, without the ids of their permits, and at
   * most 20 waiters; its `more` counts the others.
   */
  readonly locks: readonly LockRow[];
  /** How many locks match `match` and `only` but are left out. */
  readonly more: number;
  /** At most 500 clients and half a mebibyte; clients that are gone come first. */
  readonly clients: readonly ClientRow[];
  readonly totals: Totals;
  readonly history: readonly Point[];
  readonly events: readonly FeedEvent[];
  /** Since when Redis does not answer, and why; null while it answers. */
  readonly away: Away | null;
  readonly scan: ScanProgress | null;
  /** As in {@link Me}, but complete only after the first look. */
  readonly blind: readonly string[];
}

/** `event: change`: only the differences from the last message. */
export interface Change {
  readonly atMs: number;
  readonly put: readonly LockRow[];
  /** Keys that are no longer listed. */
  readonly gone: readonly string[];
  readonly more: number;
  /** Clients that have changed, and the ids of clients that are no longer listed. */
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
  /** Grows by one with each event. */
  readonly id: number;
  readonly atMs: number;
  readonly type: "lost" | "forced" | "gone" | "stale" | "redis-away" | "redis-back";
  readonly key?: string;
  /** As text for people: `billing@web-7 pid 3121`. */
  readonly client?: string;
  /** The former holder as text for people, with its stored form. */
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
  /** The latest state of the lock, with all reported holders and waiters, up to 1 000 of each; null when it is no longer listed. */
  readonly lock: LockRow | null;
  /** The permits of a permit-expirable semaphore that are out; null if they could not be read, absent for other kinds. */
  readonly permits?: readonly TakenPermit[] | null;
  /** The shell line that frees the lock as shown, or gives back the permits of clients that are gone; null if there is none. */
  readonly unlock: string | null;
  /** The latest changes of the lock that the server has noticed, the newest first. */
  readonly changes: readonly {
    readonly atMs: number;
    readonly type: LockChange["type"] | "forced";
    /** In English. */
    readonly text: string;
  }[];
}

/** Answer to `POST ?free=<key>` and `POST ?release=<key>`. */
export interface Freed {
  /**
   * For permits: `released`, they are available again; `absent`, all were back already; `changed`, some were back, and nothing was done.
   */
  readonly outcome: "released" | "absent" | "changed";
  /** For a lock that has changed: its present holders, as text for people. */
  readonly now: string | null;
}
