import type { Clock } from "../clock.js";
import type { Fleet } from "../index.js";
import type { LocksSeen, WatchedLock } from "../watch/index.js";
import type { Away, ClientRow, FeedEvent, LockRow, Point, ScanProgress, Totals } from "./format.js";
import { History } from "./history.js";
import { KeptChanges } from "./kept-changes.js";
import { KeptEvents } from "./kept-events.js";
import { clientRow, laterRow, rowOf } from "./rows.js";
import { tellClient, tellHolders } from "./told.js";

/** The changes since the previous look. */
export interface News {
  readonly point?: Point;
  readonly events: readonly FeedEvent[];
}

/** How long a lock that a scan has found is listed. */
const SCANNED_MS = 60_000;
/** If more clients than this fall silent between two looks, the events do not name the rest. */
const MOST_GONE = 20;

const NOTHING: Totals = { held: 0, waiting: 0, clients: 0, gone: 0, unknown: 0, jvms: 0 };

interface Scanned {
  readonly row: LockRow;
  readonly atMs: number;
  readonly untilMs: number;
}

/** The latest known state of all locks. While Redis is away, the state is kept. */
export class Picture {
  readonly history: History;
  readonly events: KeptEvents = new KeptEvents();
  readonly changes: KeptChanges = new KeptChanges();
  readonly #clock: Clock;
  /** The server's clock minus the local clock. */
  #offsetMs = 0;
  #atMs: number;
  #locks = new Map<string, LockRow>();
  #clients: readonly ClientRow[] = [];
  #states: ReadonlyMap<string, "there" | "gone"> = new Map();
  #scanned = new Map<string, Scanned>();
  #totals = NOTHING;
  #away: Away | null = null;
  scan: ScanProgress | null = null;
  /** Sentences about what the Redis user cannot see. */
  blind: readonly string[] = [];

  constructor(clock: Clock, historyMinutes: number) {
    this.#clock = clock;
    this.#atMs = clock.wallMs();
    this.history = new History(historyMinutes);
  }

  /** How long ago the latest look ended. */
  get ageMs(): number {
    return Math.max(0, this.nowMs - this.#atMs);
  }

  /** The server's clock now, if it is known. */
  get nowMs(): number {
    return Math.round(this.#clock.wallMs() + this.#offsetMs);
  }

  get away(): Away | null {
    return this.#away;
  }

  get totals(): Totals {
    return this.#totals;
  }

  get clients(): readonly ClientRow[] {
    return this.#clients;
  }

  get locks(): Iterable<LockRow> {
    return this.#locks.values();
  }

  lock(key: string): LockRow | undefined {
    return this.#locks.get(key);
  }

  /** The name of a lock that is listed now, or was listed before. */
  nameOf(key: string): string | undefined {
    return this.#locks.get(key)?.name ?? this.changes.nameOf(key);
  }

  seen(seen: LocksSeen): News {
    const { atMs, fleet, changes } = seen;
    this.#offsetMs = atMs - this.#clock.wallMs();
    this.#atMs = atMs;
    const events = [...this.#back(), ...this.#gone(fleet, seen.presenceIsUnwell)];
    this.#locks = new Map([
      ...this.#stillScanned(),
      ...seen.locks.map((lock) => [lock.key, rowOf(lock)] as const),
    ]);
    const rows = [...this.#locks.values()];
    for (const change of changes) this.changes.add(change, atMs);
    for (const { type, key, holders, reason, client } of changes) {
      const by = fleet.clients.find(({ id }) => id === client);
      const teller = by === undefined ? client : tellClient(by);
      if (type === "lost")
        events.push(this.#tell({ type, key, ...(teller && { client: teller }), ...(reason && { reason }) }));
      if (type === "stale") events.push(this.#tell({ type, key, holder: tellHolders(holders) }));
    }
    this.#clients = fleet.clients.map(clientRow);
    this.#totals = totalsOf(rows, fleet);
    const lost = changes.filter(({ type }) => type === "lost").length;
    const point = this.history.add(fleet, rows, lost);
    return { events, ...(point && { point }) };
  }

  /** @returns the event that Redis is away, if this is the first failure in a row */
  lostRedis(reason: string): FeedEvent | undefined {
    const isNew = this.#away === null;
    this.#away = { sinceMs: this.#away?.sinceMs ?? this.nowMs, reason };
    return isNew ? this.#tell({ type: "redis-away", reason }) : undefined;
  }

  forced(of: Pick<FeedEvent, "key" | "holder" | "actor" | "reason" | "permits">): FeedEvent {
    return this.#tell({ type: "forced", ...of });
  }

  /** Lists a lock that a scan has found: for a while, or until a look sees it. */
  found(lock: WatchedLock): void {
    const atMs = this.nowMs;
    const row = rowOf(lock);
    const untilMs = atMs + Math.min(SCANNED_MS, lock.ttlMs < 0 ? SCANNED_MS : lock.ttlMs);
    this.#scanned.set(lock.key, { row, atMs, untilMs });
    if (!this.#locks.has(lock.key)) this.#locks.set(lock.key, laterRow(row, this.#atMs - atMs));
  }

  #stillScanned(): (readonly [string, LockRow])[] {
    const now = this.#atMs;
    this.#scanned = new Map([...this.#scanned].filter(([, { untilMs }]) => untilMs > now));
    return [...this.#scanned].map(([key, { row, atMs }]) => [key, laterRow(row, now - atMs)] as const);
  }

  #back(): FeedEvent[] {
    if (this.#away === null) return [];
    this.#away = null;
    return [this.#tell({ type: "redis-back" })];
  }

  /** If so many clients fell silent at once that presence itself has failed, no client is reported as gone. */
  #gone({ clients }: Fleet, presenceIsUnwell: boolean): readonly FeedEvent[] {
    const before = this.#states;
    this.#states = new Map(clients.map(({ id, state }) => [id, state]));
    if (presenceIsUnwell) return [];
    return clients
      .filter(({ id, state }) => state === "gone" && before.get(id) === "there")
      .slice(0, MOST_GONE)
      .map((client) => this.#tell({ type: "gone", client: tellClient(client) }));
  }

  #tell(event: Omit<FeedEvent, "id" | "atMs">): FeedEvent {
    return this.events.add({ atMs: this.nowMs, ...event });
  }
}

function totalsOf(rows: readonly LockRow[], { clients }: Fleet): Totals {
  const holders = rows.flatMap((row) => row.holders.filter(({ client }) => client === null));
  const there = clients.filter(({ state }) => state === "there").length;
  return {
    held: rows.filter((row) => row.holders.length > 0).length,
    waiting: rows.reduce((sum, { waiting, more }) => sum + waiting.length + more.waiting, 0),
    clients: there,
    gone: clients.length - there,
    unknown: holders.length,
    jvms: holders.filter(({ by }) => by === "jvm").length,
  };
}
