import type { Series } from "./series.js";

/** The holds of a thread on one lock. */
interface LiveHold {
  readonly series: Series;
  /** The time of its first hold, on the monotonic clock. */
  readonly startMs: number;
  /** How many holds the thread has on the lock. */
  count: number;
}

/** A hold, as events describe it. */
interface EventHold {
  readonly name: string;
  readonly holder: string;
}

/** The holds that were acquired since measuring began and are not over. The oldest come first. */
export class LiveHolds {
  readonly #live = new Map<string, LiveHold>();

  began(hold: EventHold, series: Series, startMs: number): void {
    const id = idOf(hold);
    const live = this.#live.get(id);
    if (live === undefined) this.#live.set(id, { series, startMs, count: 1 });
    else live.count += 1;
    series.active += 1;
  }

  /** Does nothing for a hold that was not counted: it began earlier, or belongs to a joint lock. */
  ended(hold: EventHold): void {
    const id = idOf(hold);
    const live = this.#live.get(id);
    if (live === undefined) return;
    live.series.active -= 1;
    live.count -= 1;
    if (live.count === 0) this.#live.delete(id);
  }

  clear(): void {
    this.#live.clear();
  }

  /** The start of the oldest hold of each series. */
  oldest(): ReadonlyMap<Series, number> {
    const starts = new Map<Series, number>();
    for (const { series, startMs } of this.#live.values()) {
      if (!starts.has(series)) starts.set(series, startMs);
    }
    return starts;
  }
}

/** Names the thread and the lock, because a thread may hold several locks. The holder contains no space. */
function idOf({ name, holder }: EventHold): string {
  return `${holder} ${name}`;
}
