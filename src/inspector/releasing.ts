import type { Holdfast } from "../index.js";
import type { Admitted } from "./access.js";
import type { Deed, Deeds } from "./deeds.js";
import { NotToBeFreed } from "./denials.js";
import type { Freed } from "./format.js";
import { lookAgain } from "./looking.js";
import type { Picture } from "./picture.js";
import { tellHolders } from "./told.js";

/** The permits to give back. An id is never used twice, so it names only a permit that was shown. */
export interface ReleaseOrder {
  readonly key: string;
  readonly ids: readonly string[];
  readonly reason: string;
  readonly by: Admitted;
}

/** The most permits that a request may name. */
const MOST_IDS = 100;
const ID = /^[0-9a-f]{32}$/;

/** @returns undefined without a list of ids */
export function permitIdsIn(header: string): readonly string[] | undefined {
  const ids = header.split(",");
  return ids.length <= MOST_IDS && ids.every((id) => ID.test(id)) ? [...new Set(ids)] : undefined;
}

/** Gives back exactly the permits that were shown, all of them or none. */
export class Releasing {
  readonly #holdfast: Holdfast;
  readonly #picture: Picture;
  readonly #deeds: Deeds;

  constructor(holdfast: Holdfast, picture: Picture, deeds: Deeds) {
    this.#holdfast = holdfast;
    this.#picture = picture;
    this.#deeds = deeds;
  }

  /** @throws TooMany, NotToBeFreed, NotLookedAt, the errors of `forceRelease` */
  async release({ key, ids, reason, by }: ReleaseOrder): Promise<Freed> {
    this.#deeds.allow(by);
    // Read now, because the picture may lose the holder while the command is under way.
    const deed = this.#deedOf(key, ids);
    const state = await lookAgain(this.#holdfast, this.#picture, key);
    if (state.kind === "none") return { outcome: "absent", now: null };
    if (state.kind !== "permit-expirable-semaphore")
      throw new NotToBeFreed("it is not a semaphore whose permits have ids");
    const { taken = [], takenCount = 0 } = state;
    const out = new Set(taken.map(({ id }) => id));
    const there = ids.filter((id) => out.has(id)).length;
    // If there are thousands of permits, not all of them are listed.
    if (there === 0 && takenCount === taken.length) return { outcome: "absent", now: null };
    if (there < ids.length) return { outcome: "changed", now: null };
    const outcome = await this.#holdfast.forceRelease(state, { ids });
    if (outcome === "released") this.#deeds.done({ ...deed, name: state.name }, { reason, by });
    return { outcome, now: null };
  }

  #deedOf(key: string, ids: readonly string[]): Omit<Deed, "name"> {
    const { holders = [] } = this.#picture.lock(key) ?? {};
    const owners = holders.filter(({ permitIds = [] }) => permitIds.some((id) => ids.includes(id)));
    const permits = ids.length;
    const what = permits === 1 ? "1 permit" : `${permits} permits`;
    return {
      ...{ key, holders: ids, permits },
      holder: owners.length === 0 ? "a client without presence" : tellHolders(owners),
      did: `${what} given back by force`,
      logged: `${what} of ${JSON.stringify(key)} given back by force`,
    };
  }
}
