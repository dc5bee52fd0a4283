import type { StoredLockKind } from "../locks/inspect.js";
import type { LockSource } from "./finding-options.js";

/** A client of the fleet, as it tells of itself. A claim of anybody with access to Redis: nothing is to be done on its strength alone. */
export interface ClientRef {
  /** The first part of its holders. */
  readonly id: string;
  /** What its program is called; "" where it does not tell. */
  readonly app: string;
  /** The name of its machine, and the number of its process there; null where it does not tell. */
  readonly host: string | null;
  readonly pid: number | null;
  /** `gone`: it has not told anything for longer than three times its period. */
  readonly state: "there" | "gone";
  /** How long ago it has told of itself, in milliseconds. */
  readonly lastSeenMs: number;
  readonly labels: Readonly<Record<string, string>>;
}

/** A holder of a lock. */
export interface ListedHolder {
  /**
   * As stored, `<client id>:<thread id>`, or `<client id>:next` of a client that is about to take it; with `:write` behind one of a write
   * lock. Of a semaphore, which stores no holders: the client id.
   */
  readonly holder: string;
  /** How often it holds it. */
  readonly count: number;
  /** Whose it is, by the version of the UUID in its client id. */
  readonly by: "holdfast" | "jvm" | "other";
  /** Its client; null where presence does not tell. */
  readonly client: ClientRef | null;
  /** For how many milliseconds it has held it; null where presence does not tell. */
  readonly sinceMs: number | null;
  /** Whether the watchdog renews it; null where presence does not tell, and of permits that never return by themselves. */
  readonly renewed: boolean | null;
  /** What its caller noted; null without. */
  readonly note: string | null;
  /** Of permits alone: they never return by themselves, as they have no lease, or are those of a plain semaphore. */
  readonly permanent?: true;
  /** Of permits with ids alone: those of them that its client tells and that are out. Of one call 64 at most are told. */
  readonly permitIds?: readonly string[];
}

/** A waiter for a lock. */
export interface ListedWaiter {
  /**
   * As it stands in the queue of a fair lock; in that of a plain, non-reentrant, fenced or write lock the client id, which stands there once for
   * all of its calls; in that of a semaphore the client id, once for its calls that want equally many permits. null for a call that only
   * presence tells of.
   */
  readonly holder: string | null;
  /** Its client; null where presence does not tell. */
  readonly client: ClientRef | null;
  /** For how many milliseconds it has waited; null where presence does not tell. */
  readonly forMs: number | null;
  /** What its caller noted; null without. */
  readonly note: string | null;
}

/** A lock that is held or waited for, or a semaphore or a latch that somebody uses. */
export interface ListedLock {
  /** The key in Redis. */
  readonly key: string;
  /** As this client would call it: the key, without what a `nameMapper` that is a plain prefix puts before each name. */
  readonly name: string;
  /** Of a lock as `inspect` tells it, of all others as events call it. A semaphore whose channel alone is known is told as `semaphore`, also one whose permits have leases. */
  readonly kind: StoredLockKind | "semaphore" | "permit-expirable-semaphore" | "count-down-latch";
  /** Milliseconds until it falls by itself, -1 when its key has no TTL, -2 when there is none. */
  readonly ttlMs: number;
  /** The latest fencing token; null when none was ever given out. */
  readonly token: bigint | null;
  /** Which of the sources have named it by the time at which it is listed. */
  readonly sources: readonly LockSource[];
  readonly holders: readonly ListedHolder[];
  /**
   * The queue, the next first, and then what presence tells of, the longest wait first: calls for a lock without a queue, and all but the
   * longest of a client that stands in the queue once. A client that has died may stand there until it is passed over.
   */
  readonly waiting: readonly ListedWaiter[];
  /**
   * How many stored holders, and how many in the queue, are not in the lists: of both 1,000 are, and of a queue with more than 10,000 none.
   * Which holders are is up to chance.
   */
  readonly more: { readonly holders: number; readonly waiting: number };
  /** How many permits a semaphore has to give, or how far a latch is to be counted down. Absent for all else. */
  readonly available?: number;
  /** How many permits of a permit-expirable semaphore are out, and how many of these never return by themselves. Absent for all else. */
  readonly takenCount?: number;
  readonly permanentCount?: number;
  /**
   * How many connections listen to its channels, at least: of those that wait, and for some ten seconds of those that have waited. Only with
   * the source `channels`.
   */
  readonly listeners?: number;
}
