import type { LockRow } from "../../../src/inspector/format.js";
import { waitingFor } from "./contention.js";
import type { SeenLock } from "./store.js";

export type SortBy = "waiting" | "name" | "age";

/** A lock in the order of the rows, and whether it was freed since the rows were last shown. */
export interface Placed {
  readonly lock: SeenLock;
  readonly isFreed: boolean;
}

/** How often the rows are sorted again while they are not in use. */
const SORT_AGAIN_MS = 10_000;

/**
 * The order of the rows. Numbers change all the time, and a row that moves away under the pointer cannot be clicked. So while the rows
 * are in use, no row moves or disappears: a freed lock stays, marked as freed, and a new lock comes last. While the rows are not in use,
 * freed locks disappear, and the rows are sorted again every ten seconds.
 */
export class Arrangement {
  #placed: readonly Placed[] = [];
  #by: SortBy | undefined;
  #sortedMs = Number.NEGATIVE_INFINITY;

  /**
   * @param locks the locks that match the filter
   * @param inUse whether the pointer or the focus is among the rows
   * @param all all locks: a lock among them was not freed, even if it no longer matches the filter
   */
  arrange(
    locks: ReadonlyMap<string, SeenLock>,
    by: SortBy,
    inUse: boolean,
    nowMs: number,
    all: ReadonlyMap<string, SeenLock> = locks,
  ): readonly Placed[] {
    const isNewOrder = by !== this.#by;
    if (isNewOrder || (!inUse && nowMs - this.#sortedMs >= SORT_AGAIN_MS)) {
      this.#by = by;
      this.#sortedMs = nowMs;
      this.#placed = [...locks.values()].sort(orderOf(by)).map((lock) => ({ lock, isFreed: false }));
      return this.#placed;
    }
    const known = new Set(this.#placed.map(({ lock }) => lock.row.key));
    const kept = this.#placed.flatMap(({ lock }): Placed[] => {
      const now = locks.get(lock.row.key) ?? (inUse ? all.get(lock.row.key) : undefined);
      if (now !== undefined) return [{ lock: now, isFreed: false }];
      return inUse ? [{ lock, isFreed: true }] : [];
    });
    const fresh = [...locks.values()].filter(({ row }) => !known.has(row.key)).sort(orderOf(by));
    this.#placed = inUse
      ? [...kept, ...fresh.map((lock) => ({ lock, isFreed: false }))]
      : merged(kept, fresh, orderOf(by));
    return this.#placed;
  }

  /** Sorts again at the next update, even if a row is in use. */
  reset(): void {
    this.#by = undefined;
  }
}

type Order = (a: SeenLock, b: SeenLock) => number;

/** Puts each new row before the first row that must come after it. */
function merged(kept: readonly Placed[], fresh: readonly SeenLock[], order: Order): readonly Placed[] {
  const placed = [...kept];
  for (const lock of fresh) {
    const at = placed.findIndex(({ lock: other }) => order(lock, other) < 0);
    placed.splice(at < 0 ? placed.length : at, 0, { lock, isFreed: false });
  }
  return placed;
}

function orderOf(by: SortBy): Order {
  const byName: Order = (a, b) => (a.row.name < b.row.name ? -1 : a.row.name > b.row.name ? 1 : 0);
  const byAge: Order = (a, b) => startOf(a) - startOf(b) || byName(a, b);
  if (by === "name") return byName;
  if (by === "age") return byAge;
  return (a, b) => waitingFor(b.row) - waitingFor(a.row) || byAge(a, b);
}

/** The time when the oldest hold of the lock began, on the clock of the page; locks of unknown age come last. */
function startOf({ row, toldMs }: SeenLock): number {
  return toldMs - (ageOf(row) ?? -1e12);
}

/** How long the oldest hold of the lock has lasted. */
export function ageOf({ holders }: LockRow): number | null {
  const ages = holders.flatMap(({ sinceMs }) => (sinceMs === null ? [] : [sinceMs]));
  return ages.length === 0 ? null : Math.max(...ages);
}
