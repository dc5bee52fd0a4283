/** The part of a stay that its thread needs. */
interface StayOfThread {
  readonly lock: { readonly id: string };
  readonly isBeginning: boolean;
  readonly live: readonly unknown[];
}

/** One logical flow of work: the owner of locks. Most threads only ever have one stay, which needs no map. */
export class Thread<S extends StayOfThread> {
  /** The id that the caller chose; undefined for a thread that the client made. */
  readonly explicitId: number | undefined;
  #only: S | undefined;
  #all: Map<string, S> | undefined;

  constructor(explicitId?: number) {
    this.explicitId = explicitId;
  }

  /**
   * The stay in which the thread holds or acquires a lock. Under a chosen id, this may be a stay that is still being cleaned up, because
   * the next stay has the same field in Redis.
   */
  stayIn(lockId: string): S | undefined {
    const stay = this.#latestIn(lockId);
    const isLeftOver = stay?.isBeginning === false && stay.live.length === 0;
    return isLeftOver && this.explicitId === undefined ? undefined : stay;
  }

  #latestIn(lockId: string): S | undefined {
    if (this.#all !== undefined) return this.#all.get(lockId);
    return this.#only?.lock.id === lockId ? this.#only : undefined;
  }

  /** The stays of the thread, at most one for each lock. */
  *stays(): Iterable<S> {
    if (this.#only !== undefined) yield this.#only;
    if (this.#all !== undefined) yield* this.#all.values();
  }

  get isIdle(): boolean {
    return this.#only === undefined && (this.#all === undefined || this.#all.size === 0);
  }

  /** Replaces the stay in the same lock, if there is one. */
  put(stay: S): void {
    const { id } = stay.lock;
    if (this.#all === undefined && (this.#only === undefined || this.#only.lock.id === id)) {
      this.#only = stay;
      return;
    }
    this.#all ??= new Map(this.#only && [[this.#only.lock.id, this.#only]]);
    this.#only = undefined;
    this.#all.set(id, stay);
  }

  remove(stay: S): void {
    const { id } = stay.lock;
    if (this.#only === stay) this.#only = undefined;
    if (this.#all?.get(id) === stay) this.#all.delete(id);
  }
}
