import { isClusterKey } from "../checks.js";
import type { Client } from "../client.js";
import { glob } from "../glob.js";
import { readFleet } from "../presence/fleet.js";
import type { FoundRecord } from "../protocol/finding-scripts.js";
import { forCaller } from "../runtime/for-caller.js";
import type { Waiter } from "../runtime/waiter.js";
import { type Heard, heardKeys } from "./channel-source.js";
import type { FindSettings, LockSource } from "./finding-options.js";
import { FleetIndex } from "./fleet-index.js";
import { listLock } from "./list-lock.js";
import type { ListedLock } from "./listed-lock.js";
import { lookAtMany } from "./look-at-many.js";
import { Scan } from "./scan-source.js";
import { unmapping } from "./unmapped-name.js";

/** How many keys are looked at before the locks among them are listed. */
const KEYS_A_PAGE = 1_000;
/** A longer name is skipped. The scripts that find names skip it as well, so that their answers are bounded. */
const LONGEST_NAME_BYTES = 4_096;

/** One loop over a search. */
export async function* search(
  client: Client,
  settings: FindSettings,
  found: { unreadable: number },
): AsyncGenerator<ListedLock, void, undefined> {
  client.assertOpen();
  const waiter = client.newWaiter(undefined, settings.signal);
  try {
    throwIfOver(waiter);
    let left = settings.limit;
    const looking = new Search(client, settings, waiter);
    for await (const page of looking.pages()) {
      found.unreadable = looking.unreadable;
      for (const lock of page) {
        // The client may have been closed, or the search cancelled, while the caller handled the previous lock.
        throwIfOver(waiter);
        yield lock;
        left -= 1;
        if (left === 0) return;
      }
    }
    throwIfOver(waiter);
  } catch (error) {
    // Each caller gets an error with its own stack.
    throw forCaller(error, undefined, waiter);
  } finally {
    client.dismiss(waiter);
  }
}

function throwIfOver(waiter: Waiter): void {
  if (waiter.cancelled) throw waiter.reason;
}

const FREE: Pick<FoundRecord, "type" | "queue" | "waitingClients"> = {
  type: "none",
  queue: [],
  waitingClients: [],
};

/** Sorts by key, with `{a}` behind `a`: these two share a queue and are read together. */
function twinsTogether(one: string, other: string): number {
  const [a, b] = [one, other].map((key) => /^\{([^{}]+)\}$/.exec(key)?.[1] ?? key) as [string, string];
  if (a === b) return one.length - other.length;
  return a < b ? -1 : 1;
}

function isStored(record: FoundRecord | undefined): boolean {
  return record?.type === "hash" || record?.type === "string";
}

/** One search. */
class Search {
  readonly #client: Client;
  readonly #settings: FindSettings;
  readonly #waiter: Waiter;
  readonly #nameOf: (key: string) => string;
  readonly #matches: (name: string) => boolean;
  readonly #fleet = new FleetIndex();
  #heard: ReadonlyMap<string, Heard> = new Map();
  /** How many keys were left out so far, as their names are not UTF-8. */
  unreadable = 0;

  constructor(client: Client, settings: FindSettings, waiter: Waiter) {
    const { match } = settings;
    this.#client = client;
    this.#settings = settings;
    this.#waiter = waiter;
    this.#nameOf = unmapping(client.settings.nameMapper);
    this.#matches = match === undefined ? () => true : glob(match);
  }

  async *pages(): AsyncGenerator<readonly ListedLock[], void, undefined> {
    if (this.#asks("presence")) await this.#readFleet();
    if (this.#asks("channels")) this.#heard = await this.#awaited(heardKeys(this.#client, this.#waiter));
    const named = [...new Set([...this.#fleet.keys(), ...this.#heard.keys()])]
      .filter(this.#isWanted)
      .sort(twinsTogether);
    const listed = new Set<string>();
    for (let at = 0; at < named.length; at += KEYS_A_PAGE) {
      const page = await this.#look(named.slice(at, at + KEYS_A_PAGE), []);
      if (this.#asks("scan")) for (const { key } of page) listed.add(key);
      yield page;
    }
    if (this.#asks("scan")) yield* this.#scan(listed);
  }

  async #readFleet(): Promise<void> {
    const { signal, group } = this.#settings;
    for await (const page of readFleet(this.#client, { signal, group })) {
      throwIfOver(this.#waiter);
      for (const presence of page) this.#fleet.add(presence);
    }
    throwIfOver(this.#waiter);
  }

  /** Pages of the locks that are not listed yet. */
  async *#scan(listed: Set<string>): AsyncGenerator<readonly ListedLock[], void, undefined> {
    const scan = new Scan(this.#client, this.#settings.maxKeys, this.#waiter);
    while (!scan.isOver) {
      if (scan.pauseMs > 0) await this.#waiter.pause(scan.pauseMs);
      throwIfOver(this.#waiter);
      const keys = new Set(await this.#awaited(scan.step()));
      this.unreadable = scan.unreadable;
      const wanted = [...keys].filter((key) => !listed.has(key) && this.#isWanted(key)).sort();
      const page = await this.#look(wanted, ["scan"]);
      for (const { key } of page) listed.add(key);
      yield page;
    }
  }

  async #look(keys: readonly string[], by: readonly LockSource[]): Promise<readonly ListedLock[]> {
    const [fleet, counting] = [this.#fleet, this.#asks("channels")];
    const records = await this.#awaited(lookAtMany(this.#client, keys, this.#waiter));
    return keys.flatMap((key) => {
      const record = records.get(key);
      if (record === undefined || this.#isOfItsTwin(key, records)) return [];
      const heard = this.#heard.get(key);
      const sources: LockSource[] = [...by];
      if (heard !== undefined) sources.unshift("channels");
      if (fleet.has(key)) sources.unshift("presence");
      return listLock({ key, name: this.#nameOf(key), record, fleet, heard, sources, counting }) ?? [];
    });
  }

  /** The names `a` and `{a}` share a queue: if both locks are free, or only one is held, only one is listed. */
  #isOfItsTwin(key: string, records: ReadonlyMap<string, FoundRecord>): boolean {
    const { type, queue, waitingClients } = records.get(key) ?? FREE;
    const isWaitedFor = queue.length > 0 || waitingClients.length > 0;
    if (type !== "none" || !isWaitedFor || this.#fleet.has(key)) return false;
    const inner = /^\{([^{}]+)\}$/.exec(key)?.[1];
    const twin = inner ?? `{${key}}`;
    const isListed = inner !== undefined && this.#heard.has(twin) && this.#isWanted(twin);
    return isStored(records.get(twin)) || isListed;
  }

  #asks(source: LockSource): boolean {
    return this.#settings.sources.includes(source);
  }

  /** Presence and channels may name keys that no lock can have. */
  readonly #isWanted = (key: string): boolean =>
    key !== "" &&
    Buffer.byteLength(key) <= LONGEST_NAME_BYTES &&
    (!this.#client.inCluster || isClusterKey(key)) &&
    this.#matches(this.#nameOf(key));

  async #awaited<T>(answer: Promise<T>): Promise<T> {
    const value = await this.#waiter.unlessCancelled(answer);
    throwIfOver(this.#waiter);
    return value as T;
  }
}
