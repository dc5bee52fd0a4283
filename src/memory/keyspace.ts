import { CommandError } from "./reply.js";

/** The value of each type of key. All strings are byte strings. */
interface Values {
  string: string;
  hash: Map<string, string>;
  list: string[];
  zset: Map<string, number>;
}

export type ValueType = keyof Values;

type Entry = {
  [T in ValueType]: {
    readonly type: T;
    value: Values[T];
    expiresAtMs: number;
    /** Increases with each added key. */
    readonly order: number;
  };
}[ValueType];

/** Keys with their values and expiry times, on the server's wall clock. */
export type KeyCopies = ReadonlyMap<string, Readonly<Entry>>;

function copyOf({ type, value, expiresAtMs, order }: Readonly<Entry>): Entry {
  if (typeof value === "string") return { type, value, expiresAtMs, order } as Entry;
  return {
    type,
    value: Array.isArray(value) ? [...value] : new Map<string, unknown>(value),
    expiresAtMs,
    order,
  } as Entry;
}

/** With fewer keys, a search for expired keys is not worthwhile. */
const FIRST_SWEEP_SIZE = 1024;

/** The keys of one database. They expire like Redis' keys: on the server's wall clock. No command sees an expired key. */
export class Keyspace {
  /** The server's wall clock, which stands still while a command or script runs. */
  timeMs = 0;
  readonly #entries = new Map<string, Entry>();
  #sweepAtSize = FIRST_SWEEP_SIZE;
  #latestOrder = 0;

  typeOf(key: string): ValueType | "none" {
    return this.#find(key)?.type ?? "none";
  }

  /** The value of a key, which callers may change in place; undefined if there is no such key. */
  get<T extends ValueType>(key: string, type: T): Values[T] | undefined {
    const entry = this.#find(key);
    if (entry === undefined) return undefined;
    if (entry.type !== type) {
      throw new CommandError("WRONGTYPE Operation against a key holding the wrong kind of value");
    }
    return entry.value as Values[T];
  }

  /** Stores a value and drops the TTL. */
  set<T extends ValueType>(key: string, type: T, value: Values[T]): void {
    this.#sweep();
    const order = this.#entries.get(key)?.order ?? this.#nextOrder();
    this.#entries.set(key, { type, value, expiresAtMs: Number.POSITIVE_INFINITY, order } as Entry);
  }

  /** Stores another value and keeps the TTL. */
  replace(key: string, text: string): void {
    const entry = this.#find(key);
    if (entry?.type === "string") entry.value = text;
    else this.set(key, "string", text);
  }

  delete(key: string): boolean {
    return this.#find(key) !== undefined && this.#entries.delete(key);
  }

  /** Milliseconds left, -1 without a TTL, -2 without a key. */
  ttlMs(key: string): number {
    const entry = this.#find(key);
    if (entry === undefined) return -2;
    return entry.expiresAtMs === Number.POSITIVE_INFINITY ? -1 : entry.expiresAtMs - this.timeMs;
  }

  /** Sets when a key expires; `Infinity` for never. If this time has already come, deletes the key. */
  expireAt(key: string, atMs: number): void {
    const entry = this.#find(key);
    if (entry === undefined) return;
    if (atMs <= this.timeMs) this.#entries.delete(key);
    else entry.expiresAtMs = atMs;
  }

  /**
   * One step of a scan through the keys. A key that exists from the first step to the last is returned exactly once.
   * @param from the previous step's `next`; 0 at first
   * @returns `next`: where to continue; 0 after the last key
   */
  step(from: number, count: number): { readonly keys: readonly string[]; readonly next: number } {
    const keys: string[] = [];
    for (const [key, { order }] of this.#entries) {
      if (order < from) continue;
      if (keys.length === count) return { keys, next: order };
      if (this.#find(key) !== undefined) keys.push(key);
    }
    return { keys, next: 0 };
  }

  keys(): string[] {
    return [...this.#entries.keys()].filter((key) => this.#find(key) !== undefined);
  }

  clear(): void {
    this.#entries.clear();
  }

  /** @param isWanted by default all keys are copied */
  copy(isWanted: (key: string) => boolean = () => true): KeyCopies {
    const copies = new Map<string, Entry>();
    for (const key of this.keys()) {
      const entry = isWanted(key) ? this.#entries.get(key) : undefined;
      if (entry !== undefined) copies.set(key, copyOf(entry));
    }
    return copies;
  }

  /** Restores a copy; later changes of the keys do not change the copy. @param isMeant by default all keys are replaced */
  become(copies: KeyCopies, isMeant: (key: string) => boolean = () => true): void {
    for (const key of [...this.#entries.keys()]) if (isMeant(key)) this.#entries.delete(key);
    for (const [key, entry] of copies)
      if (isMeant(key)) this.#entries.set(key, copyOf({ ...entry, order: this.#nextOrder() }));
  }

  #nextOrder(): number {
    this.#latestOrder += 1;
    return this.#latestOrder;
  }

  #find(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    // In its last millisecond a key still exists, with a TTL of 0.
    if (entry === undefined || this.timeMs <= entry.expiresAtMs) return entry;
    this.#entries.delete(key);
    return undefined;
  }

  /** Expired keys that no command reads again must not pile up. The next sweep comes when the number of remaining keys has doubled. */
  #sweep(): void {
    if (this.#entries.size < this.#sweepAtSize) return;
    this.#sweepAtSize = Math.max(FIRST_SWEEP_SIZE, 2 * this.keys().length);
  }
}
