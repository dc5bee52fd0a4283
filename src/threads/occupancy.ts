import { invariant } from "../invariant.js";

/** The number of zero entries that are always kept. */
const FEW_EMPTY = 64;

/**
 * How many stays of a client have live holds of each lock. An entry stays in the map at zero, because deleting one with each release would
 * cost more; see decision 23.
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
    invariant(stays >= 0, "a lock has less than no stays");
    this.#stays.set(lockId, stays);
    if (stays > 0) return;
    this.#empty += 1;
    if (this.#empty <= Math.max(FEW_EMPTY, this.#stays.size / 2)) return;
    this.#stays = new Map([...this.#stays].filter(([, count]) => count > 0));
    this.#empty = 0;
  }
}
