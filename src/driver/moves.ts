/** The callbacks of {@link Driver.onMoved}, which learn that some keys are on another server now. */
export class Moves {
  readonly #told = new Set<() => void>();

  /** @returns a function that removes the callback. Safe twice */
  add(moved: () => void): () => void {
    // The same function may be given twice.
    const own = () => moved();
    this.#told.add(own);
    return () => void this.#told.delete(own);
  }

  tell(): void {
    for (const moved of [...this.#told]) moved();
  }
}

const SLOTS = 16_384;

/** Notices that slots of a cluster have other masters than before. */
export class SlotMoves {
  readonly #moved: () => void;
  /** The last known master of each slot; undefined if none was ever known. */
  readonly #masters: (string | undefined)[] = new Array(SLOTS);
  /** The latest answer to `CLUSTER SLOTS`. */
  #answer: string | undefined;
  /** The nodes that have not answered yet. */
  readonly #asked = new WeakSet<object>();

  /** @param moved is called when some slots have other masters */
  constructor(moved: () => void) {
    this.#moved = moved;
  }

  /** To be called when the client may have received a new list of slots. */
  look(masterOf: (slot: number) => string | undefined): void {
    let moved = false;
    for (let slot = 0; slot < SLOTS; slot += 1) {
      const [before, master] = [this.#masters[slot], masterOf(slot)];
      if (master === undefined || master === before) continue;
      this.#masters[slot] = master;
      moved ||= before !== undefined;
    }
    if (moved) this.#moved();
  }

  /**
   * Asks one random node for the slots: a fixed node might lag behind the cluster, or be silent.
   * @returns whether its answer differs from the previous answer, or is the first. Never rejects
   */
  async ask<Node extends object>(
    nodes: readonly Node[],
    slots: (node: Node) => Promise<unknown>,
  ): Promise<boolean> {
    const free = nodes.filter((node) => !this.#asked.has(node));
    const node = free[Math.floor(Math.random() * free.length)];
    if (node === undefined) return true;
    this.#asked.add(node);
    try {
      const before = this.#answer;
      this.#answer = JSON.stringify(await slots(node));
      return this.#answer !== before;
    } catch {
      return true;
    } finally {
      this.#asked.delete(node);
    }
  }
}
