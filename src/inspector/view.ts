import { glob } from "../glob.js";
import type { Change, ClientRow, LockRow } from "./format.js";
import type { Picture } from "./picture.js";
import type { WantedRows } from "./query.js";
import { areAlike, clientPrint, laterClient, laterRow, lockPrint, type Print, shortRow } from "./rows.js";

const MOST_LOCKS = 200;
const MOST_CLIENTS = 500;
/** The most bytes of locks in a message, and the most bytes of clients. */
const MOST_BYTES = 524_288;

/** The part of the picture that a viewer has asked for. */
interface ShownRows {
  readonly locks: readonly LockRow[];
  readonly more: number;
  readonly clients: readonly ClientRow[];
}

/** What pages with the same filter and order see of the picture, and what they were sent of it. */
export class View {
  readonly #picture: Picture;
  readonly #fits: (row: LockRow) => boolean;
  readonly #before: (one: LockRow, other: LockRow) => number;
  #locks = new SentRows<LockRow>(({ key }) => key, lockPrint);
  #clients = new SentRows<ClientRow>(({ id }) => id, clientPrint);

  constructor(picture: Picture, { match, sort, only }: WantedRows) {
    const fits = match === null ? () => true : glob(match);
    this.#picture = picture;
    this.#before = orders[sort];
    this.#fits = (row) => only.every((one) => tests[one](row)) && fits(row.name);
  }

  /** All of it. */
  shown(): ShownRows {
    const picture = this.#picture;
    const { ageMs } = picture;
    const fitting = [...picture.locks].filter(this.#fits).sort(this.#before);
    const rows = fitting.slice(0, MOST_LOCKS).map((row) => laterRow(shortRow(row), ageMs));
    const locks = within(rows, MOST_BYTES);
    const clients = [...picture.clients].sort(goneFirst).slice(0, MOST_CLIENTS);
    const later = clients.map((client) => laterClient(client, ageMs));
    return { locks, more: fitting.length - locks.length, clients: within(later, MOST_BYTES) };
  }

  /** The differences from the last message. From then on they count as sent. */
  changes(): Pick<Change, "put" | "gone" | "more" | "clients"> {
    const { locks, more, clients } = this.shown();
    const { nowMs } = this.#picture;
    return {
      ...this.#locks.differences(locks, nowMs),
      more,
      clients: this.#clients.differences(clients, nowMs),
    };
  }
}

/** The rows that viewers have, in the form last sent. */
class SentRows<Row> {
  readonly #idOf: (row: Row) => string;
  readonly #printOf: (row: Row, atMs: number) => Print;
  #prints: ReadonlyMap<string, Print> = new Map();

  constructor(idOf: (row: Row) => string, printOf: (row: Row, atMs: number) => Print) {
    this.#idOf = idOf;
    this.#printOf = printOf;
  }

  differences(rows: readonly Row[], atMs: number): { put: readonly Row[]; gone: readonly string[] } {
    const before = this.#prints;
    const prints = new Map<string, Print>();
    const put = rows.filter((row) => {
      const id = this.#idOf(row);
      const known = before.get(id);
      const print = this.#printOf(row, atMs);
      const isKnown = known !== undefined && areAlike(known, print);
      prints.set(id, isKnown ? known : print);
      return !isKnown;
    });
    this.#prints = prints;
    return { put, gone: [...before.keys()].filter((id) => !prints.has(id)) };
  }
}

/** As many rows as fit into a message. */
function within<Row>(rows: readonly Row[], bytes: number): readonly Row[] {
  let left = bytes;
  const end = rows.findIndex((row) => {
    left -= Buffer.byteLength(JSON.stringify(row));
    return left < 0;
  });
  return end < 0 ? rows : rows.slice(0, end);
}

const tests: Readonly<Record<WantedRows["only"][number], (row: LockRow) => boolean>> = {
  waited: ({ waiting, more }) => waiting.length + more.waiting > 0,
  stale: ({ flags }) => flags.includes("stale") || flags.includes("leaked"),
  jvm: ({ holders }) => holders.some(({ by }) => by === "jvm"),
};

const byKey = (one: LockRow, other: LockRow) => (one.key < other.key ? -1 : 1);
const byAge = (one: LockRow, other: LockRow) => ageOf(other) - ageOf(one) || byKey(one, other);
const byWaiting = (one: LockRow, other: LockRow) => waitingOf(other) - waitingOf(one) || byAge(one, other);

const orders: Readonly<Record<WantedRows["sort"], (one: LockRow, other: LockRow) => number>> = {
  waiting: byWaiting,
  age: byAge,
  name: byKey,
};

function waitingOf({ waiting, more }: LockRow): number {
  return waiting.length + more.waiting;
}

/** The age of the lock's oldest hold; -1 if presence does not report it. */
function ageOf({ holders }: LockRow): number {
  return holders.reduce((oldest, { sinceMs }) => Math.max(oldest, sinceMs ?? -1), -1);
}

/** Clients that are gone come first, the most recently seen at the top. */
function goneFirst(one: ClientRow, other: ClientRow): number {
  const rank = ({ state }: ClientRow) => (state === "gone" ? 0 : 1);
  const ageMs = ({ state, lastSeenMs }: ClientRow) => (state === "gone" ? lastSeenMs : 0);
  return rank(one) - rank(other) || ageMs(one) - ageMs(other) || (one.id < other.id ? -1 : 1);
}
