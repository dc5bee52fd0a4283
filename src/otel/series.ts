import { AttributeSet } from "./attribute-set.js";
import { LOCK_KIND, LOCK_NAME } from "./attributes.js";
import type { OtelSettings } from "./config.js";

/** The counts with the same attributes. */
export class Series extends AttributeSet {
  /** The present number. */
  active = 0;
}

/** The SDK of OpenTelemetry keeps this many series for an instrument. Beyond that, series with a count of zero are forgotten. */
const MOST_SERIES = 2_000;

/** The series of locks: one for each kind, or for each kind and name that the option `lockName` makes. */
export class SeriesOfLocks {
  readonly #lockName: OtelSettings["lockName"];
  readonly #series = new Map<string, Series>();

  constructor(lockName: OtelSettings["lockName"]) {
    this.#lockName = lockName;
  }

  of({ name, kind }: { readonly name: string; readonly kind: string }): Series {
    const shownName = this.#lockName?.(name, kind);
    const id = shownName === undefined ? kind : `${kind} ${shownName}`;
    let series = this.#series.get(id);
    if (series === undefined) {
      series = new Series(
        shownName === undefined ? { [LOCK_KIND]: kind } : { [LOCK_KIND]: kind, [LOCK_NAME]: shownName },
      );
      if (this.#series.size >= MOST_SERIES) this.#forgetIdle();
      this.#series.set(id, series);
    }
    return series;
  }

  all(): Iterable<Series> {
    return this.#series.values();
  }

  /** Sets all counts to 0. The SDK would otherwise keep the last number that it was given. */
  clear(): void {
    for (const series of this.#series.values()) series.active = 0;
  }

  #forgetIdle(): void {
    for (const [id, { active }] of this.#series) if (active === 0) this.#series.delete(id);
  }
}
