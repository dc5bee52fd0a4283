import { originOf } from "../client-id.js";
import { kindOf } from "../locks/inspect.js";
import { ID_DIGITS } from "../presence/live-format.js";
import { withToken } from "../printed.js";
import type { FoundRecord } from "../protocol/finding-scripts.js";
import { MODE_FIELD, WRITE_ENDING } from "../protocol/names.js";
import { readCounter } from "../protocol/stored-numbers.js";
import type { Heard } from "./channel-source.js";
import type { LockSource } from "./finding-options.js";
import type { FleetIndex, ToldHold, ToldWait } from "./fleet-index.js";
import type { ListedHolder, ListedLock, ListedWaiter } from "./listed-lock.js";

/** The findings about a key. */
export interface Findings {
  readonly key: string;
  readonly name: string;
  readonly record: FoundRecord;
  readonly fleet: Pick<FleetIndex, "client" | "told">;
  /** The listeners on its channels; undefined if the servers were not asked for channels, or if no connection listens. */
  readonly heard: Heard | undefined;
  readonly sources: readonly LockSource[];
  /** Whether the servers were asked for their channels. */
  readonly counting: boolean;
}

/** A client id is a UUID. */
const CLIENT_ID_LENGTH = 36;

/** Joins the stored values with presence and channels; undefined if the key is free, or is not a lock. */
export function listLock(findings: Findings): ListedLock | undefined {
  const kind = kindIn(findings);
  if (kind === undefined) return undefined;
  const { key, name, record, heard, sources, counting } = findings;
  const holders = record.type === "string" ? permitHolders(findings) : lockHolders(findings);
  const waiting = waitersIn(findings);
  const isQueuedFor = record.queue.length > 0 || record.waitingClients.length > 0;
  const isUsed = holders.length > 0 || isQueuedFor || waiting.some(isThere);
  // The value of a semaphore or a latch is a number and does not name its users. Only its channel and its leases show whether it is in use.
  const isOut = (record.permits?.leases?.taken ?? 0) > 0;
  if (!isUsed && !isOut && (record.type !== "string" || heard === undefined)) return undefined;
  return withToken({
    key,
    name,
    kind,
    ttlMs: record.ttlMs,
    token: tokenIn(record),
    sources,
    holders,
    waiting,
    more: record.more,
    ...permitCounts(record),
    ...(counting && { listeners: heard?.listeners ?? 0 }),
  });
}

function kindIn({ key, record, fleet, heard }: Findings): ListedLock["kind"] | undefined {
  const { type, fields, queue, waitingClients, waitsFor, token } = record;
  const { holds, waits } = fleet.told(key);
  const told = (holds[0] ?? waits[0])?.kind;
  if (type === "string") {
    if (record.permits?.leases !== undefined) return "permit-expirable-semaphore";
    return numberKind(told) ?? numberKind(heard?.of);
  }
  if (type !== "hash" && type !== "none") return undefined;
  const free = type === "none" && queue.length === 0;
  if (!free) return kindOf({ mode: fields[MODE_FIELD], queue, token });
  if (told !== undefined || waitingClients.length === 0) return waitedKind(told);
  if (waitsFor === "permits") return "semaphore";
  return kindOf({ mode: waitsFor === "write" ? waitsFor : undefined, queue, token });
}

function numberKind(kind: string | undefined): ListedLock["kind"] | undefined {
  return kind === "semaphore" || kind === "permit-expirable-semaphore" || kind === "count-down-latch"
    ? kind
    : undefined;
}

/** The kind of a lock whose key is absent at the moment, as its waiters report it. */
function waitedKind(told: string | undefined): ListedLock["kind"] | undefined {
  if (told === undefined) return undefined;
  if (told === "read-lock" || told === "write-lock") return "read-write-lock";
  if (told.endsWith("fair-lock")) return "fair-lock";
  if (told === "fenced-lock") return told;
  return numberKind(told) ?? "lock";
}

function lockHolders({ key, record, fleet }: Findings): ListedHolder[] {
  const told = new HoldsByHolder(fleet.told(key).holds);
  const { [MODE_FIELD]: _, ...counts } = record.fields;
  return Object.entries(counts).map(([holder, count]) => {
    const hold = told.of(holder);
    return {
      holder,
      count: Number(count),
      by: originOf(holder),
      client: fleet.client(clientIdIn(holder)),
      sinceMs: hold?.ageMs ?? null,
      renewed: hold?.renewed ?? null,
      note: hold?.note ?? null,
    };
  });
}

/** The reports of clients about their holds of one lock. A lock may have thousands of holders, so each hold is read only once. */
class HoldsByHolder {
  readonly #exact = new Map<string, ToldHold>();
  /** By client and mode; null if the client reports several holds in this mode. */
  readonly #handedOn = new Map<string, ToldHold | null>();

  constructor(holds: readonly ToldHold[]) {
    for (const hold of holds) {
      const { client, kind, threadId, handedOff } = hold;
      const mode = kind === "write-lock" ? WRITE_ENDING : "";
      const holder = `${client.id}:${threadId}${mode}`;
      if (!this.#exact.has(holder)) this.#exact.set(holder, hold);
      if (!handedOff) continue;
      const of = client.id + mode;
      this.#handedOn.set(of, this.#handedOn.has(of) ? null : hold);
    }
  }

  /** If one call of a client has handed the lock to another call of the client, Redis may still store the previous holder. */
  of(holder: string): ToldHold | undefined {
    const mode = holder.endsWith(WRITE_ENDING) ? WRITE_ENDING : "";
    return this.#exact.get(holder) ?? this.#handedOn.get(clientIdIn(holder) + mode) ?? undefined;
  }
}

function clientIdIn(holder: string): string {
  return holder.slice(0, CLIENT_ID_LENGTH);
}

/** How many permits a semaphore has and how many are out; the list of holders does not show this. */
function permitCounts({
  permits,
}: FoundRecord): Pick<ListedLock, "available" | "takenCount" | "permanentCount"> {
  if (permits === null) return {};
  const { count, leases } = permits;
  if (leases === undefined) return { available: count };
  const { expired, taken, permanent } = leases;
  return { available: count + expired, takenCount: taken, permanentCount: permanent };
}

function permitHolders({ key, record, fleet }: Findings): ListedHolder[] {
  const leases = record.permits?.leases;
  const last = leases?.last ?? [];
  const isWhole = last.length === (leases?.taken ?? 0);
  const out = new Map<string, string[]>();
  for (const { id } of last) {
    const start = id.slice(0, ID_DIGITS);
    out.set(start, [...(out.get(start) ?? []), id]);
  }
  // The fleet begins with the client that reported last. The holders begin with the client that reported longest ago, because its permits
  // may have leaked.
  const holds = [...fleet.told(key).holds].sort((a, b) => b.client.lastSeenMs - a.client.lastSeenMs);
  return holds.flatMap((hold) => permitHolder(hold, out, isWhole) ?? []);
}

/**
 * A client's report about its permits.
 * @param out the ids of permits that are out, by their first digits
 * @param isWhole whether `out` has all permits that are out
 * @returns undefined when all of the client's permits are back
 */
function permitHolder(
  { client, kind, count, ageMs, renewed, note, permanent, ids }: ToldHold,
  out: ReadonlyMap<string, readonly string[]>,
  isWhole: boolean,
): ListedHolder | undefined {
  // A report has only the first digits of an id, so ids with equal first digits are left out.
  const permitIds = ids.flatMap((start) => (out.get(start)?.length === 1 ? (out.get(start) ?? []) : []));
  const isLeased = kind === "permit-expirable-semaphore";
  // A client of an older version does not report ids, and a client that has taken many permits at once does not report all of them.
  const isKnown = isLeased && isWhole && ids.length === count;
  if (isKnown && permitIds.length === 0) return undefined;
  return {
    holder: client.id,
    count: isKnown ? permitIds.length : count,
    by: originOf(client.id),
    client,
    sinceMs: ageMs,
    renewed: permanent ? null : renewed,
    note,
    ...(permanent && { permanent: true }),
    ...(isLeased && { permitIds }),
  };
}

/**
 * If the queue has entries of a client, the longest waits that the client reports belong to these entries. In a queue that is not fair, a
 * client has one entry, even if many of its calls wait. In the queue of a semaphore, it has one entry for each number of permits that its
 * calls want.
 */
function waitersIn({ key, record, fleet }: Findings): ListedWaiter[] {
  const waits = [...fleet.told(key).waits].sort((a, b) => b.ageMs - a.ageMs);
  const byClient = longestFirst(waits);
  const standing = new Set<ToldWait>();
  const queued = [...record.queue, ...record.waitingClients].map((holder) => {
    const clientId = clientIdIn(holder);
    const wait = byClient.get(clientId)?.next().value;
    if (wait !== undefined) standing.add(wait);
    const { ageMs: forMs = null, note = null } = wait ?? {};
    return { holder, client: fleet.client(clientId), forMs, note };
  });
  const others = waits.filter((wait) => !standing.has(wait));
  return [
    ...queued,
    ...others.map(({ client, ageMs, note }) => ({ holder: null, client, forMs: ageMs, note })),
  ];
}

/** The waits of each client, the longest first. @param waits the longest first */
function longestFirst(waits: readonly ToldWait[]): ReadonlyMap<string, Iterator<ToldWait, undefined>> {
  const lists = new Map<string, ToldWait[]>();
  for (const wait of waits) {
    const { id } = wait.client;
    const known = lists.get(id);
    if (known === undefined) lists.set(id, [wait]);
    else known.push(wait);
  }
  return new Map([...lists].map(([id, list]) => [id, list.values()]));
}

function isThere({ client }: ListedWaiter): boolean {
  return client?.state === "there";
}

function tokenIn({ token }: FoundRecord): bigint | null {
  return token === null ? null : (readCounter(token) ?? null);
}
