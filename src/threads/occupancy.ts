/** So many locks that no stay is in are remembered at least. */
const FEW_EMPTY = 64;

/**
 * How many stays of a client are believed to be in each lock. Numbers by name, which go down to zero and stay: what is deleted from
 * a map with each release costs more, see decision 23.
 */
export class Occupancy {
  #stays = new Map<string, number>();
  #empty = 0;

  of(lockId: string): number {
    return this.#stays.get(lockId) ?? 0;
  }

  entered(lockId: string): void {
    const before = this.#stays.get(lockId);
    if (before === 0) this.#empty -= 1;
    this.#stays.set(lockId, (before ?? 0) + 1);
  }

  left(lockId: string): void {
    const stays = this.of(lockId) - 1;
    this.#stays.set(lockId, stays);
    if (stays > 0) return;
    this.#empty += 1;
    if (this.#empty <= Math.max(FEW_EMPTY, this.#stays.size / 2)) return;
    this.#stays = new Map([...this.#stays].filter(([, count]) => count > 0));
    this.#empty = 0;
  }
}
