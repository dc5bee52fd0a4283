import type { StoredLockKind } from "../locks/inspect.js";
import type { LockSource } from "./finding-options.js";

/** A client of the fleet, by its own report. Any program with access to Redis can forge a report: never act on it alone. */
export interface ClientRef {
  /** The first part of the names of its holders. */
  readonly id: string;
  /** The name of its program; "" if not reported. */
  readonly app: string;
  /** The name of its machine (null if not reported), and its process number there. */
  readonly host: string | null;
  readonly pid: number | null;
  /** `gone`: it has not reported for longer than three times its period. */
  readonly state: "there" | "gone";
  /** How long ago it last reported, in milliseconds. */
  readonly lastSeenMs: number;
  readonly labels: Readonly<Record<string, string>>;
}

/** A holder of a lock. */
export interface ListedHolder {
  /**
   * As stored, `<client id>:<thread id>`, or `<client id>:next` for a client that is about to take it; a write lock adds `:write`. For a
   * semaphore, which stores no holders: the client id.
   */
  readonly holder: string;
  /** The hold count, or the number of permits. */
  readonly count: number;
  /** Whether the holder belongs to Redisson or to holdfast, by the version of the UUID in its client id. */
  readonly by: "holdfast" | "jvm" | "other";
  /** Its client; null if presence does not know it. */
  readonly client: ClientRef | null;
  /** For how many milliseconds it has held the lock; null if presence does not know. */
  readonly sinceMs: number | null;
  /** Whether the watchdog renews it; null if presence does not know, and for permits that never return by themselves. */
  readonly renewed: boolean | null;
  /** The note that its caller gave, or null. */
  readonly note: string | null;
  /** For permits only: they never return by themselves, as they have no lease or belong to a plain semaphore. */
  readonly permanent?: true;
  /** For permits with ids only: the ids that its client reports and that are out. At most 64 for each call. */
  readonly permitIds?: readonly string[];
}

/** A waiter for a lock. */
export interface ListedWaiter {
  /**
   * In the queue of a fair lock: the stored entry. In the queue of a plain, non-reentrant, fenced or write lock: the client id, once for
   * all of its calls. In the queue of a semaphore: the client id, once for all its calls that want equally many permits. null for a call
   * that only presence reports.
   */
  readonly holder: string | null;
  /** Its client; null if presence does not know it. */
  readonly client: ClientRef | null;
  /** For how many milliseconds it has waited; null if presence does not know. */
  readonly forMs: number | null;
  /** The note that its caller gave, or null. */
  readonly note: string | null;
}

/** A lock that is held or waited for, or a semaphore or a latch in use. */
export interface ListedLock {
  /** The key in Redis. */
  readonly key: string;
  /** The name that this client would use: the key, without the prefix if a `nameMapper` only puts a prefix before each name. */
  readonly name: string;
  /**
   * For a lock, the kind that `inspect` returns; otherwise, the kind that events name. If only the channel of a semaphore is known, the
   * kind is `semaphore`, even if the permits have leases.
   */
  readonly kind: StoredLockKind | "semaphore" | "permit-expirable-semaphore" | "count-down-latch";
  /** Milliseconds until it expires; -1 when its key has no TTL, -2 when the key is absent. */
  readonly ttlMs: number;
  /** The latest fencing token; null when none was issued. */
  readonly token: bigint | null;
  /** The sources that had named it before it was listed. */
  readonly sources: readonly LockSource[];
  readonly holders: readonly ListedHolder[];
  /**
   * First the queue, the next waiter first; then the calls that only presence reports, the longest wait first. These are calls for a lock
   * without a queue, and further calls of a client that has one place in the queue. A dead client may stay in the queue until its turn is
   * skipped.
   */
  readonly waiting: readonly ListedWaiter[];
  /**
   * How many stored holders and queue entries are not in the lists. Each list has up to 1,000 entries. Queues over 10,000 entries are not
   * listed. Which holders are listed is random.
   */
  readonly more: { readonly holders: number; readonly waiting: number };
  /** How many permits a semaphore has available, or the count of a latch. Absent for other kinds. */
  readonly available?: number;
  /** How many permits of a permit-expirable semaphore are out, and how many of these never return by themselves. Absent for other kinds. */
  readonly takenCount?: number;
  readonly permanentCount?: number;
  /**
   * How many connections listen to its channels, at least: clients listen while they wait and for about ten seconds afterwards. Only with
   * the source `channels`.
   */
  readonly listeners?: number;
}
