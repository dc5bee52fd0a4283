import type { Footprint } from "./footprint.js";

/** Chooses what happens next among all that may. */
export interface Order {
  /** @returns the place of one in the list; undefined: all that could follow was played before, in another order */
  choose(ids: readonly string[]): number | undefined;
  /** The chosen one has happened, and this is what it touched. */
  happened(footprint: Footprint): void;
}

/** A moment of the run, and what was tried at it. */
interface Crossing {
  readonly ids: readonly string[];
  /** What need not be tried: the same orders begin with it elsewhere. With what each touches. */
  readonly asleep: Map<string, Footprint>;
  chosen: number;
  footprint: Footprint | undefined;
}

/**
 * A depth-first search through all orders of events, each run played from the start. Of orders that differ only in the places
 * of events which commute it plays one: Patrice Godefroid's sleep sets. What was tried at a crossing sleeps in what is
 * tried there next, until something happens that does not commute with it.
 */
export class Search implements Order {
  readonly #merges: boolean;
  readonly #path: Crossing[] = [];
  #depth = 0;
  #asleep = new Map<string, Footprint>();

  /** @param merges false: orders that differ in the places of events which commute are all played */
  constructor(merges = true) {
    this.#merges = merges;
  }

  /** A run begins at its start. */
  begin(): void {
    this.#depth = 0;
    this.#asleep = new Map();
  }

  choose(ids: readonly string[]): number | undefined {
    const known = this.#path[this.#depth];
    if (known !== undefined) {
      if (known.ids.join() !== ids.join()) {
        throw new Error(`the same choices led elsewhere: [${ids.join()}] instead of [${known.ids.join()}]`);
      }
      return known.chosen;
    }
    const crossing: Crossing = { ids, asleep: this.#asleep, chosen: -1, footprint: undefined };
    if (!this.#turnOn(crossing)) return undefined;
    this.#path.push(crossing);
    return crossing.chosen;
  }

  happened(footprint: Footprint): void {
    const crossing = this.#path[this.#depth];
    if (crossing === undefined) throw new Error("something has happened that was not chosen");
    this.#depth += 1;
    crossing.footprint = footprint;
    const asleep = this.#merges ? [...crossing.asleep] : [];
    this.#asleep = new Map(asleep.filter(([, its]) => its.commutesWith(footprint)));
  }

  /** The run is over. @returns whether there is another one */
  next(): boolean {
    for (;;) {
      const last = this.#path.at(-1);
      if (last === undefined) return false;
      const { ids, chosen, footprint } = last;
      // A run that ended within its last event has not told what that touches: then it commutes with nothing.
      if (footprint !== undefined) last.asleep.set(ids[chosen] ?? "", footprint);
      if (this.#turnOn(last)) return true;
      this.#path.pop();
    }
  }

  /** The next choice that does not sleep. */
  #turnOn(crossing: Crossing): boolean {
    const { ids, asleep } = crossing;
    crossing.footprint = undefined;
    do crossing.chosen += 1;
    while (crossing.chosen < ids.length && asleep.has(ids[crossing.chosen] ?? ""));
    return crossing.chosen < ids.length;
  }
}
