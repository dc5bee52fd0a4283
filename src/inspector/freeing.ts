import type { Holdfast, ListedHolder, LockState } from "../index.js";
import type { Admitted } from "./access.js";
import type { Deed, Deeds } from "./deeds.js";
import { NotToBeFreed } from "./denials.js";
import type { Freed } from "./format.js";
import type { InspectorSettings } from "./inspector-options.js";
import { lookAgain, nameIsNotKnown } from "./looking.js";
import type { Picture } from "./picture.js";
import { digestOf } from "./rows.js";
import { tellHolders } from "./told.js";

/** The lock to free, and its state when it was seen. */
export interface Order {
  readonly key: string;
  /** The digest of the lock that was shown. */
  readonly digest: string;
  readonly reason: string;
  readonly by: Admitted;
}

/** The form of a lock's holder in `inspect`; any other field of a hash is not a holder. */
const HOLDER = /^[0-9a-f-]{36}:(?:\d+(?::write)?|next)$/i;
const LOCKS = new Set<string>(["lock", "fair-lock", "fenced-lock", "read-write-lock"]);

/** Frees locks from exactly the holders that were shown. */
export class Freeing {
  readonly #holdfast: Holdfast;
  readonly #group: string | undefined;
  readonly #picture: Picture;
  readonly #deeds: Deeds;

  constructor(
    holdfast: Holdfast,
    { group }: Pick<InspectorSettings, "group">,
    picture: Picture,
    deeds: Deeds,
  ) {
    this.#holdfast = holdfast;
    this.#group = group;
    this.#picture = picture;
    this.#deeds = deeds;
  }

  /** @throws TooMany, NotToBeFreed, NotLookedAt, the errors of `forceUnlock` */
  async free({ key, digest, reason, by }: Order): Promise<Freed> {
    this.#deeds.allow(by);
    const state = await this.#look(key);
    if (state.kind === "none") return { outcome: "absent", now: null };
    if (!LOCKS.has(state.kind) || !state.holders.every((holder) => HOLDER.test(holder)))
      throw new NotToBeFreed("it is not a lock, so it has no holder to free it from");
    if (state.holders.length === 0) return { outcome: "absent", now: null };
    if (digestOf(key, countsOf(state)) !== digest) return { outcome: "changed", now: this.#nowOf(state) };
    const outcome = await this.#holdfast.forceUnlock(state);
    if (outcome === "released") this.#deeds.done(this.#deedOf(state), { reason, by });
    if (outcome !== "changed") return { outcome, now: null };
    return { outcome, now: this.#nowOf(await this.#look(key)) };
  }

  #look(key: string): Promise<LockState> {
    return lookAgain(this.#holdfast, this.#picture, key, (name) => this.#find(key, name));
  }

  /** If the `nameMapper` does more than add a prefix, the name is not known, and the key may belong to another program. */
  async #find(key: string, name: string): Promise<LockState> {
    const group = this.#group;
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
        waitingClients: [],
        waitingClientCount: 0,
        token,
        ownHolders: [],
        kept: false,
      };
    }
    throw nameIsNotKnown();
  }

  #nowOf(state: LockState): string {
    return tellHolders(this.#holdersOf(state));
  }

  /** The holders, with the names that presence has reported. */
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

  #deedOf(state: LockState): Deed {
    const { name, key, holders } = state;
    const holder = tellHolders(this.#holdersOf(state));
    const did = "freed by force";
    return { name, key, holder, holders, did, logged: `lock ${JSON.stringify(key)} ${did}` };
  }
}

function countsOf({ holders, holdCounts }: LockState) {
  return holders.map((holder) => ({ holder, count: holdCounts[holder] ?? 0 }));
}
