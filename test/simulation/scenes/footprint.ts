/** What an event touches: two events of which neither changes what the other touches may change places. */
export class Footprint {
  readonly #isAll: boolean;
  readonly #changed = new Set<string>();
  readonly #used = new Set<string>();

  /** @param isAll whether it touches everything */
  constructor(isAll = false) {
    this.#isAll = isAll;
  }

  changes(what: string): void {
    this.#changed.add(what);
  }

  /** Uses of a thing commute with each other, as do the two ends of a queue, but not with a change of it. */
  uses(what: string): void {
    this.#used.add(what);
  }

  /** Whether the order of the two makes no difference. */
  commutesWith(other: Footprint): boolean {
    if (this.#isAll || other.#isAll) return false;
    return !this.#disturbs(other) && !other.#disturbs(this);
  }

  #disturbs(other: Footprint): boolean {
    for (const what of this.#changed) if (other.#changed.has(what) || other.#used.has(what)) return true;
    return false;
  }
}
