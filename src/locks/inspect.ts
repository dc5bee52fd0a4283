import type { Client } from "../client.js";
import { withToken } from "../printed.js";
import type { LockRecord } from "../protocol/inspect-scripts.js";
import { MODE_FIELD } from "../protocol/names.js";
import { readCounter, readHoldCount } from "../protocol/stored-numbers.js";
import { look } from "./look.js";

/** A taken permit of a permit-expirable semaphore. */
export interface TakenPermit {
  /** Its id as returned by `acquire`: 32 hexadecimal digits. */
  readonly id: string;
  /** Milliseconds until it returns by itself; -1 for a permanent permit. */
  readonly endsInMs: number;
}

/**
 * The kinds of locks that can be told apart by what is stored. The two locks of a read-write pair share a key, so they count as one kind.
 */
export type StoredLockKind = "lock" | "fair-lock" | "fenced-lock" | "read-write-lock";

/** What is stored about a lock, a semaphore or a latch. */
export interface LockState {
  /** The name that the program uses. */
  readonly name: string;
  /** The key in Redis. */
  readonly key: string;
  /**
   * The kind, as far as the stored state shows it; `none` when the lock is free. A fair lock without waiters is stored like a plain lock,
   * so it is a `lock` here. A fenced lock is known by its counter. A semaphore and a latch are stored alike, and so is a permit-expirable
   * semaphore without taken permits.
   */
  readonly kind: "none" | StoredLockKind | "semaphore-or-latch" | "permit-expirable-semaphore";
  /**
   * The holders as stored: `<client id>:<thread id>`, with `:write` appended for a write lock. `<client id>:next` is a waiting client that
   * was granted the lock and takes it within 1.5 s. Empty for a semaphore or a latch.
   */
  readonly holders: readonly string[];
  /** How often each holder holds it; NaN if another program has written something that is not a count. */
  readonly holdCounts: Readonly<Record<string, number>>;
  /** Milliseconds until the key expires; -2 when the lock is free, -1 when its key has no TTL. */
  readonly ttlMs: number;
  /** The waiters of a fair lock, the next one first. Waiters of plain, non-reentrant, fenced and write locks are in `waitingClients`. */
  readonly queue: readonly string[];
  /**
   * The ids of the clients that wait for a plain, non-reentrant, fenced or write lock, in order. The first client gets the lock next and
   * chooses which of its calls enters. At most the first 1,000 are listed; none if there are more than 10,000. A free lock may briefly list
   * clients. A dead client stays listed until its turn is skipped, but no longer than ten minutes after the last wait of any client. JVMs
   * and waiters for other kinds of locks are never listed.
   *
   * For a semaphore of either kind: the clients that wait for permits. The first one for which there are enough permits gets its turn next.
   * A client is listed only after another was faster, or once the client knows that others wait, and then once for each number of permits
   * that its calls want. So a client that waits alone is never listed.
   */
  readonly waitingClients: readonly string[];
  /** How many entries `waitingClients` would have without its limit. */
  readonly waitingClientCount: number;
  /**
   * At least this many processes wait for the lock's release. Counts the subscribers of its channel, which remain some ten seconds after a
   * wait. If `waitingClients` are more, counts them: only the first two subscribe. Waiters of fair and spin locks are not counted. In a
   * cluster with sharded messages only connections to the master are counted. Absent where the number cannot be known: with Sentinels, in a
   * cluster with classic messages, and where `PUBSUB` is not allowed.
   */
  readonly listeners?: number;
  /** The latest fencing token; null if none was ever given out, or if the counter is not a number. */
  readonly token: bigint | null;
  /** The content of the fencing counter if it is not a number; then the lock cannot be acquired as a fenced lock. Absent otherwise. */
  readonly foreignToken?: string;
  /** The holders that belong to the inspecting client. */
  readonly ownHolders: readonly string[];
  /** True when its only holder is `<client id>:0`: the lock was released, and its key is kept for a while. */
  readonly kept: boolean;
  /** The available permits of a semaphore, or the remaining count of a latch. Absent for a lock. */
  readonly available?: number;
  /** The leased permits of a permit-expirable semaphore, soonest to return first; at most 1,000. Absent for all others. */
  readonly taken?: readonly TakenPermit[];
  /** How many permits of a permit-expirable semaphore are taken, including those beyond the limit of `taken`. Absent for all others. */
  readonly takenCount?: number;
}

/** The holder of a released lock with a kept key: no thread has the id 0. */
const KEPT = /^[0-9a-f-]{36}:0$/;

export async function inspect(client: Client, name: string, key: string): Promise<LockState> {
  const record = await look({ client, key, name, kind: "lock" }, { whole: true });
  const { type, ttlMs, fields, queue, waitingClients, waitingClientCount, token, listeners } = record;
  const { [MODE_FIELD]: mode, ...counts } = fields;
  const holders = Object.keys(counts);
  const [only = ""] = holders;
  const permits = permitsOf(record);
  const isFree = type === "none" && queue.length === 0;
  const kind: LockState["kind"] = permits?.kind ?? (isFree ? "none" : kindOf({ mode, queue, token }));
  return withToken({
    name,
    key,
    kind,
    holders,
    holdCounts: Object.fromEntries(
      Object.entries(counts).map(([holder, count]) => [holder, readHoldCount(count)]),
    ),
    ttlMs,
    queue,
    waitingClients,
    waitingClientCount,
    ...tokenOf(token),
    ownHolders: holders.filter((holder) => client.owns(holder)),
    kept: holders.length === 1 && KEPT.test(only),
    ...(listeners === null ? {} : { listeners: Math.max(listeners, clientsIn(record)) }),
    ...permits?.counts,
  });
}

/** A client may have several places in the queue of a semaphore. */
function clientsIn({ waitingClients, waitingClientCount }: LockRecord): number {
  return waitingClientCount - waitingClients.length + new Set(waitingClients).size;
}

function tokenOf(stored: string | null): Pick<LockState, "token" | "foreignToken"> {
  const token = stored === null ? null : readCounter(stored);
  return token === undefined && stored !== null
    ? { token: null, foreignToken: stored }
    : { token: token ?? null };
}

/** The facts that only a semaphore or a latch has. */
interface CountFacts {
  readonly kind: "semaphore-or-latch" | "permit-expirable-semaphore";
  readonly counts: Pick<LockState, "available" | "taken" | "takenCount">;
}

function permitsOf({ permits }: LockRecord): CountFacts | undefined {
  if (permits === null) return undefined;
  const { count, leases } = permits;
  if (leases === undefined) return { kind: "semaphore-or-latch", counts: { available: count } };
  const { expired, taken: takenCount, first: taken } = leases;
  return { kind: "permit-expirable-semaphore", counts: { available: count + expired, taken, takenCount } };
}

/** The stored facts that tell the kinds of locks apart. */
interface Evidence {
  readonly mode?: string | undefined;
  readonly queue: readonly string[];
  readonly token: string | null;
}

/** Expects a lock that is held or has a queue. */
export function kindOf({ mode, queue, token }: Evidence): StoredLockKind {
  if (mode !== undefined) return "read-write-lock";
  if (queue.length > 0) return "fair-lock";
  return token === null ? "lock" : "fenced-lock";
}
