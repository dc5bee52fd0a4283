import type { Client } from "../client.js";
import { withToken } from "../printed.js";
import type { LockRecord } from "../protocol/inspect-scripts.js";
import { MODE_FIELD } from "../protocol/names.js";
import { readCounter, readHoldCount } from "../protocol/stored-numbers.js";
import { look } from "./look.js";

/** A permit of a permit-expirable semaphore that is out. */
export interface TakenPermit {
  /** As the semaphore calls it: 32 hexadecimal digits. */
  readonly id: string;
  /** Milliseconds until it returns by itself; -1 of a permanent one. */
  readonly endsInMs: number;
}

/** The kinds of locks that are told apart by what is stored; the halves of a pair are one key. */
export type StoredLockKind = "lock" | "fair-lock" | "fenced-lock" | "read-write-lock";

/** What is stored about a lock, a semaphore or a latch. */
export interface LockState {
  /** As the program calls it. */
  readonly name: string;
  /** The key in Redis. */
  readonly key: string;
  /**
   * What the stored state looks like: `none` when the lock is free. A fair lock without waiters is stored as any other, and so is a `lock`
   * here. A fenced lock is known by its counter. A semaphore and a latch are stored alike, and so is a permit-expirable semaphore of which
   * no permit is out.
   */
  readonly kind: "none" | StoredLockKind | "semaphore-or-latch" | "permit-expirable-semaphore";
  /**
   * The holders as stored: `<client id>:<thread id>`, or `<client id>:next` of a client that waits and was given the lock, which it takes
   * within 1.5 s; with `:write` behind those of a write lock. None of a semaphore or a latch.
   */
  readonly holders: readonly string[];
  /** How often each holder holds it; NaN where another program has written something that is no count. */
  readonly holdCounts: Readonly<Record<string, number>>;
  /** Milliseconds until it falls by itself, -2 when it is free, -1 when its key has no TTL. */
  readonly ttlMs: number;
  /** The waiters of a fair lock, the next first. Those of a plain, non-reentrant, fenced or write lock are in `waitingClients`. */
  readonly queue: readonly string[];
  /**
   * The ids of the clients that wait for a plain, non-reentrant, fenced or write lock, in their order: the first is the next that is given it,
   * whichever of its calls that serves. The first 1,000; none of more than 10,000. A lock that is free may have some for a moment. One that
   * has died stands here until it is passed over, ten minutes at most after somebody has waited last. JVMs, and what waits for other kinds
   * of locks, never stand here.
   *
   * Of a semaphore of either kind, the clients that wait for permits: the first for which there are enough is the next that is told its turn.
   * A client stands here once for each number of permits that its calls want, from when another client was faster than it, or it knows that
   * others wait: a single one that waits never does.
   */
  readonly waitingClients: readonly string[];
  /** How many places `waitingClients` would have, with those that it has no room for. */
  readonly waitingClientCount: number;
  /**
   * How many processes wait for the release of the lock, at least: those that listen to its channel, for some ten seconds after they have
   * waited as well, or as many as there are `waitingClients` where those are more, as of them the first two alone listen there. Waiters of
   * fair and spin locks do not. In a cluster with sharded messages only those that are connected to the master are counted.
   * Absent where the number cannot be known: with Sentinels, in a cluster with classic messages, and where `PUBSUB` is not allowed.
   */
  readonly listeners?: number;
  /** The latest fencing token; null when none was ever given out, and where the counter holds no number. */
  readonly token: bigint | null;
  /** What the fencing counter holds in place of a number, so that the lock can not be acquired as a fenced one. Absent otherwise. */
  readonly foreignToken?: string;
  /** The holders that belong to the client that asked. */
  readonly ownHolders: readonly string[];
  /** True when its only holder is `<client id>:0`: it was released, and its key was left for a while. */
  readonly kept: boolean;
  /** How many permits a semaphore has to give, or how far a latch is to be counted down. Absent for a lock. */
  readonly available?: number;
  /** The leased permits of a permit-expirable semaphore, the first to return first: 1,000 at most. Absent for all others. */
  readonly taken?: readonly TakenPermit[];
  /** How many permits of a permit-expirable semaphore are out, those included that `taken` has no room for. Absent for all others. */
  readonly takenCount?: number;
}

/** Of a lock that was released, and whose key is left for a while: no thread has the id 0. */
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

/** What is told of a semaphore or a latch alone. */
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

/** What tells the kinds of locks apart. */
interface Evidence {
  readonly mode?: string | undefined;
  readonly queue: readonly string[];
  readonly token: string | null;
}

/** Of a lock that is held, or queued for. */
export function kindOf({ mode, queue, token }: Evidence): StoredLockKind {
  if (mode !== undefined) return "read-write-lock";
  if (queue.length > 0) return "fair-lock";
  return token === null ? "lock" : "fenced-lock";
}
