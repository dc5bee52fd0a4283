import type {
  Away,
  Change,
  ClientRow,
  FeedEvent,
  FeedSnapshot,
  LockRow,
  Me,
  Point,
  ScanProgress,
  Totals,
} from "../../../src/inspector/format.js";
import { Contention, type Steps } from "./contention.js";

/** A lock in its latest reported state. */
export interface Seen<T> {
  readonly row: T;
  /** When it was reported, on the clock of the page: ages grow from there. */
  readonly toldMs: number;
}

export interface SeenLock extends Seen<LockRow> {
  /** The lease at which the meter is full: the longest lease that these holders were seen with, but at least half a minute. */
  readonly fullMs: number;
}

/** `paused`: the page is not visible. `polling`: the feed does not arrive, for example behind a proxy that buffers answers. */
export type Connection =
  | { readonly is: "connecting" | "live" | "polling" | "paused" }
  | { readonly is: "lost"; readonly sinceMs: number; readonly reason: string }
  | { readonly is: "refused"; readonly status: number };

/** The whole state of the page. Each message of the feed makes a new state. */
export interface View {
  readonly me: Me | null;
  readonly connection: Connection;
  /** Whether any report has arrived yet. */
  readonly isKnown: boolean;
  readonly locks: ReadonlyMap<string, SeenLock>;
  readonly more: number;
  readonly clients: ReadonlyMap<string, Seen<ClientRow>>;
  readonly totals: Totals;
  readonly history: readonly Point[];
  readonly contention: ReadonlyMap<string, Steps>;
  /** The latest first. */
  readonly events: readonly FeedEvent[];
  readonly away: Away | null;
  readonly scan: ScanProgress | null;
  /** Sentences about what the Redis user cannot see. */
  readonly blind: readonly string[];
  /** The server's time, and when it was reported. */
  readonly atMs: number;
  readonly toldMs: number;
}

const SHORTEST_FULL_MS = 30_000;
const MOST_EVENTS = 500;
/** Six hours of points. By default the server keeps one hour. */
const MOST_POINTS = 2_160;

const EMPTY: View = {
  me: null,
  connection: { is: "connecting" },
  isKnown: false,
  locks: new Map(),
  more: 0,
  clients: new Map(),
  totals: { held: 0, waiting: 0, clients: 0, gone: 0, unknown: 0, jvms: 0 },
  history: [],
  contention: new Map(),
  events: [],
  away: null,
  scan: null,
  blind: [],
  atMs: 0,
  toldMs: 0,
};

/** Keeps the latest state. Nothing is forgotten while Redis or the server is away. */
export class Store {
  #view = EMPTY;
  readonly #contention = new Contention();
  readonly #readers = new Set<(view: View) => void>();

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  get view(): View {
    return this.#view;
  }

  /** @returns ends it */
  read(reader: (view: View) => void): () => void {
    this.#readers.add(reader);
    return () => {
      this.#readers.delete(reader);
    };
  }

  me(me: Me): void {
    this.#put({ me });
  }

  connection(connection: Connection): void {
    this.#put({ connection });
  }

  snapshot({ locks, more, clients, totals, history, events, ...rest }: FeedSnapshot): void {
    const toldMs = this.nowMs();
    const contention = this.#contention.restart(history, locks);
    this.#put({
      isKnown: true,
      // While Redis is away, a server that has just started knows no locks, so the page keeps the previous state.
      ...(rest.away !== null && locks.length === 0 && this.#view.isKnown
        ? {}
        : {
            locks: new Map(locks.map((row) => [row.key, this.#seen(row, toldMs)])),
            more,
            clients: new Map(clients.map((row) => [row.id, { row, toldMs }])),
            totals,
          }),
      history,
      contention,
      events: [...events].sort((a, b) => b.id - a.id).slice(0, MOST_EVENTS),
      ...rest,
      toldMs,
    });
  }

  change({ put, gone, clients, point, ...rest }: Change): void {
    const toldMs = this.nowMs();
    const locks = new Map(this.#view.locks);
    for (const key of gone) locks.delete(key);
    for (const row of put) {
      locks.set(row.key, this.#seen(row, toldMs));
      this.#contention.look(row);
    }
    const fleet = new Map(this.#view.clients);
    for (const id of clients.gone) fleet.delete(id);
    for (const row of clients.put) fleet.set(row.id, { row, toldMs });
    this.#put({
      ...rest,
      locks,
      clients: clients.put.length + clients.gone.length === 0 ? this.#view.clients : fleet,
      toldMs,
      ...(point === undefined ? {} : this.#pointed(point, locks)),
    });
  }

  event(event: FeedEvent): void {
    if (this.#view.events.some(({ id }) => id === event.id)) return;
    this.#put({ events: [event, ...this.#view.events].slice(0, MOST_EVENTS) });
  }

  #pointed(point: Point, locks: ReadonlyMap<string, SeenLock>): Partial<View> {
    const rows = [...locks.values()].map(({ row }) => row);
    return {
      history: [...this.#view.history, point].slice(-MOST_POINTS),
      contention: this.#contention.point(point, rows),
    };
  }

  #seen(row: LockRow, toldMs: number): SeenLock {
    const before = this.#view.locks.get(row.key);
    const isSame = before !== undefined && namesOf(before.row) === namesOf(row);
    return { row, toldMs, fullMs: Math.max(isSame ? before.fullMs : SHORTEST_FULL_MS, row.ttlMs) };
  }

  #put(changes: Partial<View>): void {
    this.#view = { ...this.#view, ...changes };
    for (const reader of this.#readers) reader(this.#view);
  }
}

function namesOf({ holders }: LockRow): string {
  return holders.map(({ holder }) => holder).join("\n");
}
