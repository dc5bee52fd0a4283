import { types } from "node:util";
import type { Holdfast, ListedHolder, LockState } from "../index.js";
import type { Admitted } from "./access.js";
import { Allowance } from "./allowance.js";
import type { Freed } from "./format.js";
import type { InspectorSettings } from "./inspector-options.js";
import type { Picture } from "./picture.js";
import { digestOf } from "./rows.js";
import { tellHolders } from "./told.js";

/** A lock of which nothing is known, or that has no holders to be freed from. */
export class NotToBeFreed extends Error {}

/** The lock could not be looked at, so that nothing was done. */
class NotLookedAt extends Error {}

/** More locks are freed than a person at a page would free. */
export class TooMany extends Error {}

/** What is to be freed, and as what it was seen. */
export interface Order {
  readonly key: string;
  /** Of what was shown. */
  readonly digest: string;
  readonly reason: string;
  readonly by: Admitted;
}

const FREES_OF_ONE = 10;
const FREES_IN_ALL = 60;
/** As `inspect` tells those of locks; all else in a hash is no lock's. */
const HOLDER = /^[0-9a-f-]{36}:\d+(?::write)?$/i;
const LOCKS = new Set<string>(["lock", "fair-lock", "fenced-lock", "read-write-lock"]);

/** Frees locks from exactly the holders that were shown. */
export class Freeing {
  readonly #holdfast: Holdfast;
  readonly #settings: InspectorSettings;
  readonly #picture: Picture;
  readonly #allowance: Allowance;

  constructor(holdfast: Holdfast, settings: InspectorSettings, picture: Picture) {
    this.#holdfast = holdfast;
    this.#settings = settings;
    this.#picture = picture;
    this.#allowance = new Allowance(settings.clock, FREES_OF_ONE, FREES_IN_ALL);
  }

  /** @throws TooMany, NotToBeFreed, NotLookedAt, what `forceUnlock` throws */
  async free({ key, digest, reason, by }: Order): Promise<Freed> {
    if (!this.#allowance.take(by.actor)) throw new TooMany(`more than ${FREES_OF_ONE} frees in a minute`);
    const state = await this.#firstLook(key);
    if (state.kind === "none") return { outcome: "absent", now: null };
    if (!LOCKS.has(state.kind) || !state.holders.every((holder) => HOLDER.test(holder)))
      throw new NotToBeFreed("it is no lock, and has no holder to be freed from");
    if (state.holders.length === 0) return { outcome: "absent", now: null };
    if (digestOf(key, countsOf(state)) !== digest) return { outcome: "changed", now: this.#nowOf(state) };
    const outcome = await this.#holdfast.forceUnlock(state);
    if (outcome === "released") this.#tell(state, { reason, by });
    if (outcome !== "changed") return { outcome, now: null };
    return { outcome, now: this.#nowOf(await this.#look(key)) };
  }

  async #firstLook(key: string): Promise<LockState> {
    try {
      return await this.#look(key);
    } catch (error) {
      if (error instanceof NotToBeFreed) throw error;
      throw new NotLookedAt(types.isNativeError(error) ? error.message : String(error), { cause: error });
    }
  }

  /** Only what was listed is looked at: any other key may be none of a lock. */
  async #look(key: string): Promise<LockState> {
    const name = this.#picture.nameOf(key);
    if (name === undefined) throw new NotToBeFreed("no lock of this key is known");
    const state = await this.#holdfast.inspect(name);
    return state.key === key ? state : this.#find(key, name);
  }

  /** Of a `nameMapper` that is no prefix the name is not known, and the key is not one's own. */
  async #find(key: string, name: string): Promise<LockState> {
    const { group } = this.#settings;
    const match = name.replace(/[\\*?[\]]/g, "\\$&");
    const search = this.#holdfast.locks({ match, ...(group === undefined ? {} : { group }) });
    for await (const lock of search) {
      if (lock.key !== key) continue;
      const { kind, holders, ttlMs, token } = lock;
      return {
        name,
        key,
        kind: LOCKS.has(kind) ? (kind as LockState["kind"]) : "semaphore-or-latch",
        holders: holders.map(({ holder }) => holder),
        holdCounts: Object.fromEntries(holders.map(({ holder, count }) => [holder, count])),
        ttlMs,
        queue: [],
        token,
        ownHolders: [],
        kept: false,
      };
    }
    throw new NotToBeFreed("its name is not known: the nameMapper of this client is no prefix");
  }

  #nowOf(state: LockState): string {
    return tellHolders(this.#holdersOf(state));
  }

  /** With what presence has told of them. */
  #holdersOf({ key, holders, holdCounts }: LockState): readonly ListedHolder[] {
    const listed = this.#picture.lock(key)?.holders ?? [];
    return holders.map((holder) => {
      const known = listed.find((each) => each.holder === holder);
      const client = known?.client ?? this.#picture.clients.find(({ id }) => holder.startsWith(id)) ?? null;
      const by = known?.by ?? "other";
      const nothing = { sinceMs: null, renewed: null, note: null };
      return { ...nothing, holder, count: holdCounts[holder] ?? 1, by, client };
    });
  }

  #tell(state: LockState, { reason, by }: Pick<Order, "reason" | "by">): void {
    const holder = tellHolders(this.#holdersOf(state));
    const { name, key } = state;
    const actor = by.actor ?? "";
    const event = { key, holder, ...(actor !== "" && { actor }), ...(reason !== "" && { reason }) };
    this.#picture.changes.tell(key, name, {
      atMs: this.#picture.nowMs,
      type: "forced",
      text: `freed by force${actor === "" ? "" : ` by ${actor}`}: ${reason || "no reason given"}; it was held by ${holder}`,
    });
    this.#log(
      state,
      `lock ${JSON.stringify(key)} freed by force: actor ${JSON.stringify(actor)}, reason ${JSON.stringify(reason)}, holders ${JSON.stringify(state.holders)}`,
    );
    this.#whenFreed(this.#picture.forced(event));
  }

  /** The lock is freed, whether or not the program's function writes that down: the page says so where it does not. */
  #log({ key, name }: LockState, line: string): void {
    const failed = (error: unknown) => {
      const text = `the log line about it was not written: ${String(error)}`;
      this.#picture.changes.tell(key, name, { atMs: this.#picture.nowMs, type: "forced", text });
    };
    try {
      // An `async` function answers by a promise, whose rejection would end the process.
      Promise.resolve(this.#settings.log(line)).catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  #whenFreed: (event: ReturnType<Picture["forced"]>) => void = () => undefined;

  /** Calls back with the event of each lock that was freed. */
  onFreed(freed: (event: ReturnType<Picture["forced"]>) => void): void {
    this.#whenFreed = freed;
  }
}

function countsOf({ holders, holdCounts }: LockState) {
  return holders.map((holder) => ({ holder, count: holdCounts[holder] ?? 0 }));
}
