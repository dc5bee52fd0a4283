import type { ClientPresence, Fleet, ListedHolder, ListedLock } from "../index.js";

/**
 * Flags of a held lock:
 * - `stale`: each holder's client is gone, none reports a fixed lease, and the TTL was seen to fall for longer than a watchdog needs to
 *   raise it.
 * - `leaked`: a client that is gone has permits that never return by themselves.
 * - `no-ttl`: it never ends by itself.
 * - `fixed`: no watchdog renews it.
 * - `max-hold`: `maxHoldMs` limits its hold.
 */
export type LockFlag = "stale" | "leaked" | "no-ttl" | "fixed" | "max-hold";

/** A lock as it was seen. */
export interface WatchedLock extends ListedLock {
  readonly flags: readonly LockFlag[];
}

/**
 * The change of a lock between two looks:
 * - `taken`: it was free or absent before.
 * - `freed`: it has no holder any more.
 * - `handed-over`: it has other holders.
 * - `queue`: the number of waiting calls has changed.
 * - `lost`: a client reports the loss of a hold.
 * - `stale`: it has this flag now.
 */
export interface LockChange {
  readonly type: "taken" | "freed" | "handed-over" | "queue" | "lost" | "stale";
  readonly key: string;
  readonly name: string;
  /** The holders now, and at the previous look. */
  readonly holders: readonly ListedHolder[];
  readonly before: readonly ListedHolder[];
  /** How many calls wait. */
  readonly waiting: number;
  /** For a lost hold: its `LeaseLostError.reason`, and the client that lost it. */
  readonly reason?: string;
  readonly client?: string;
}

interface LookResult {
  readonly locks: readonly WatchedLock[];
  readonly changes: readonly LockChange[];
  readonly presenceIsUnwell: boolean;
}

/** A watchdog of 30 s raises the TTL every 10 s; any watchdog raises it every third of its lease. */
const RENEWAL_MS = 11_000;
const RENEWALS_A_LEASE = 3;
/** A renewal may come this late. */
const LATE_MS = 1_000;

/**
 * How long a TTL must fall from its first value to prove that no watchdog renews the lock.
 * @param ttlMs the first value. A watchdog's lease is at least that long, and its next renewal is due within a third of the lease
 * @example staleAfterMs(30_000); // 11000
 */
export function staleAfterMs(ttlMs: number): number {
  return Math.max(RENEWAL_MS, ttlMs / RENEWALS_A_LEASE + LATE_MS);
}
/** A TTL that is read over a network may seem to be this much higher than the previous reading allows. */
const TOLERANCE_MS = 500;
/**
 * Two reports that the same client lost the same lock are about one loss if their times differ by at most this much, because looks and
 * beats take a while.
 */
const SAME_LOSS_MS = 2_000;
/** A client that is silent for this many beats is gone. Clients that fall silent within that time fell silent together. */
const BEATS = 3;

/** A TTL that has only fallen since the first look. */
interface Fall {
  readonly holders: string;
  readonly sinceMs: number;
  /** How long the TTL must fall before the lock is stale. */
  readonly neededMs: number;
  readonly ttlMs: number;
  readonly atMs: number;
}

/** Compares each look at all locks with the previous look. */
export class Looks {
  #before: ReadonlyMap<string, WatchedLock> | undefined;
  #falls: ReadonlyMap<string, Fall> = new Map();
  /** The losses that were already reported, by client, key and reason, with their times. */
  #losses = new Map<string, number>();

  /** @param nowMs the time on any clock that never jumps */
  seen(found: readonly ListedLock[], fleet: Fleet, nowMs: number): LookResult {
    const presenceIsUnwell = isUnwell(fleet.clients);
    const capped = cappedHolds(fleet.clients);
    const falls = new Map<string, Fall>();
    const locks = found.map((lock): WatchedLock => {
      const fall = this.#fallOf(lock, nowMs);
      if (fall !== undefined) falls.set(lock.key, fall);
      const isStale =
        !presenceIsUnwell && fall !== undefined && nowMs - fall.sinceMs >= fall.neededMs && areGone(lock);
      const isLeaked = !presenceIsUnwell && lock.holders.some(hasLeaked);
      return { ...lock, flags: flagsOf(lock, { isStale, isLeaked }, capped) };
    });
    const now = new Map(locks.map((lock) => [lock.key, lock]));
    const before = this.#before;
    const lost = this.#lost(fleet.clients, now, nowMs);
    this.#before = now;
    this.#falls = falls;
    const changes = before === undefined ? [] : [...changesBetween(before, now), ...lost];
    return { locks, changes, presenceIsUnwell };
  }

  #fallOf({ key, ttlMs, holders }: ListedLock, nowMs: number): Fall | undefined {
    if (ttlMs < 0 || holders.length === 0) return undefined;
    const names = namesOf(holders);
    const before = this.#falls.get(key);
    const hasOnlyFallen =
      before !== undefined &&
      before.holders === names &&
      ttlMs <= before.ttlMs - (nowMs - before.atMs) + TOLERANCE_MS;
    if (hasOnlyFallen) return { ...before, ttlMs, atMs: nowMs };
    return { holders: names, sinceMs: nowMs, neededMs: staleAfterMs(ttlMs), ttlMs, atMs: nowMs };
  }

  /** The losses that clients report and that no earlier result contains. */
  #lost(clients: Fleet["clients"], now: ReadonlyMap<string, WatchedLock>, nowMs: number): LockChange[] {
    const losses = new Map<string, number>();
    const told = clients.flatMap(({ id, lost }) =>
      lost.flatMap(({ key, reason, agoMs }): LockChange[] => {
        const what = JSON.stringify([id, key, reason]);
        const atMs = nowMs - agoMs;
        const isKnown = (this.#losses.get(what) ?? Number.NEGATIVE_INFINITY) >= atMs - SAME_LOSS_MS;
        losses.set(what, Math.max(atMs, losses.get(what) ?? atMs));
        if (isKnown) return [];
        const { name = key, holders = [], waiting = [] } = now.get(key) ?? {};
        return [
          { type: "lost", key, name, holders, before: holders, waiting: waiting.length, reason, client: id },
        ];
      }),
    );
    this.#losses = losses;
    return told;
  }
}

function changesBetween(
  before: ReadonlyMap<string, WatchedLock>,
  now: ReadonlyMap<string, WatchedLock>,
): LockChange[] {
  const changes: LockChange[] = [];
  for (const [key, lock] of now) {
    const { holders: held = [], waiting: waited = [], flags: flagged = [] } = before.get(key) ?? {};
    const { name, holders, waiting, flags } = lock;
    const tell = (type: LockChange["type"]) =>
      changes.push({ type, key, name, holders, before: held, waiting: waiting.length });
    if (namesOf(held) !== namesOf(holders)) tell(typeOf(held, holders));
    else if (waited.length !== waiting.length) tell("queue");
    if (flags.includes("stale") && !flagged.includes("stale")) tell("stale");
  }
  for (const [key, { name, holders }] of before) {
    if (!now.has(key) && holders.length > 0)
      changes.push({ type: "freed", key, name, holders: [], before: holders, waiting: 0 });
  }
  return changes;
}

function typeOf(before: readonly ListedHolder[], now: readonly ListedHolder[]): LockChange["type"] {
  if (before.length === 0) return "taken";
  return now.length === 0 ? "freed" : "handed-over";
}

function namesOf(holders: readonly ListedHolder[]): string {
  return JSON.stringify(holders.map(({ holder }) => holder).sort());
}

function flagsOf(
  { key, kind, ttlMs, holders }: ListedLock,
  { isStale, isLeaked }: { readonly isStale: boolean; readonly isLeaked: boolean },
  capped: ReadonlySet<string>,
): readonly LockFlag[] {
  const flags: LockFlag[] = [];
  if (isStale) flags.push("stale");
  if (isLeaked) flags.push("leaked");
  if (holders.length === 0) return flags;
  if (ttlMs === -1 && !COUNTS.has(kind)) flags.push("no-ttl");
  if (holders.some(({ renewed }) => renewed === false)) flags.push("fixed");
  if (holders.some(({ holder }) => capped.has(holdName(key, holder)))) flags.push("max-hold");
  return flags;
}

/** Kinds whose key has no TTL by nature: the key stays when all permits are back. */
const COUNTS: ReadonlySet<ListedLock["kind"]> = new Set([
  "semaphore",
  "permit-expirable-semaphore",
  "count-down-latch",
]);

/** JVMs do not report, so their holders are never gone. The TTL of a fixed lease falls, whether its holder is alive or not. */
function areGone({ holders }: ListedLock): boolean {
  return (
    holders.length > 0 &&
    holders.every(({ client, renewed }) => client?.state === "gone" && renewed !== false)
  );
}

function hasLeaked({ permanent, client }: ListedHolder): boolean {
  return permanent === true && client?.state === "gone";
}

function cappedHolds(clients: Fleet["clients"]): ReadonlySet<string> {
  const names = clients.flatMap(({ id, holds }) =>
    holds
      .filter(({ capped }) => capped)
      .map(({ key, threadId, kind }) =>
        holdName(key, `${id}:${threadId}${kind === "write-lock" ? ":write" : ""}`),
      ),
  );
  return new Set(names);
}

function holdName(key: string, holder: string): string {
  return JSON.stringify([key, holder]);
}

/** In a small fleet, fewer processes than this may end together for another reason, for example with their machine. */
const MANY = 3;

/**
 * Whether more than half of the processes of a group, and three at least, fell silent together, which happens when the server of their
 * presence is lost. Clients of one process count once, because they end together.
 */
function isUnwell(clients: readonly ClientPresence[]): boolean {
  const there = new Set(clients.filter(({ state }) => state === "there").map(processOf));
  const gone = clients.filter((client) => client.state === "gone" && !there.has(processOf(client)));
  return gone.some(({ lastSeenMs: fromMs, everyMs }) => {
    const isAtOnce = ({ lastSeenMs }: ClientPresence) =>
      lastSeenMs >= fromMs && lastSeenMs <= fromMs + BEATS * everyMs;
    const together = new Set(gone.filter(isAtOnce).map(processOf)).size;
    return together >= MANY && together > there.size;
  });
}

function processOf({ id, host, pid }: ClientPresence): string {
  return host === null || pid === null ? id : JSON.stringify([host, pid]);
}
