import type { Holding } from "./holding.js";

/** One logical flow of work: the owner of locks. */
export class Thread {
  /** The id that the caller chose; undefined for a thread of the client's own making. */
  readonly explicitId: number | undefined;
  /** What it holds, is acquiring or is still cleaning up. */
  readonly holdings: Holdings = new Holdings();

  constructor(explicitId?: number) {
    this.explicitId = explicitId;
  }
}

/** The stays of a thread, one for each lock. Most threads only ever have one, and for that no map is made. */
class Holdings {
  #only: Holding | undefined;
  #all: Map<string, Holding> | undefined;

  get size(): number {
    return this.#all?.size ?? (this.#only === undefined ? 0 : 1);
  }

  get(lockId: string): Holding | undefined {
    if (this.#all !== undefined) return this.#all.get(lockId);
    return this.#only?.lock.id === lockId ? this.#only : undefined;
  }

  has(lockId: string): boolean {
    return this.get(lockId) !== undefined;
  }

  /** In place of the stay in the same lock, if there is one. */
  put(holding: Holding): void {
    const { id } = holding.lock;
    if (this.#all === undefined && (this.#only === undefined || this.#only.lock.id === id)) {
      this.#only = holding;
      return;
    }
    this.#all ??= new Map(this.#only && [[this.#only.lock.id, this.#only]]);
    this.#only = undefined;
    this.#all.set(id, holding);
  }

  remove(holding: Holding): void {
    const { id } = holding.lock;
    if (this.#only === holding) this.#only = undefined;
    if (this.#all?.get(id) === holding) this.#all.delete(id);
  }

  *values(): Iterable<Holding> {
    if (this.#only !== undefined) yield this.#only;
    if (this.#all !== undefined) yield* this.#all.values();
  }
}
