import type { Fleet } from "../index.js";
import type { LockRow, Point } from "./format.js";

/** The time that one point covers. */
const POINT_MS = 10_000;
/** Two beats of a client are at least a second apart. */
const LEAST_BEAT_MS = 500;
const MOST_NAMES = 5;
/** Of a name. */
const LONGEST_NAME = 200;

interface Sum {
  readonly number: number;
  waiting: number;
  acquired: number;
  contentions: number;
  longestMs: number;
  losses: number;
  busiest: Point["busiest"];
}

/** Numbers over time, summed from the clients' reports about the time between two beats. */
export class History {
  readonly #most: number;
  #points: Point[] = [];
  #open: Sum | undefined;
  /** The time of each client's latest report, on the server's clock. */
  #beats: ReadonlyMap<string, number> = new Map();

  constructor(minutes: number) {
    this.#most = (minutes * 60_000) / POINT_MS;
  }

  get points(): readonly Point[] {
    return this.#points;
  }

  /** @returns the point that has ended, if any */
  add(fleet: Fleet, locks: readonly LockRow[], losses: number): Point | undefined {
    const number = Math.floor(fleet.atMs / POINT_MS);
    const ended = this.#end(number);
    this.#open ??= { number, waiting: 0, acquired: 0, contentions: 0, longestMs: 0, losses: 0, busiest: [] };
    const sum = this.#open;
    sum.losses += losses;
    const queues = locks.map(({ key, waiting, more }) => ({ key, waiting: waiting.length + more.waiting }));
    sum.waiting = queues.reduce((all, { waiting }) => all + waiting, 0);
    sum.busiest = queues
      .filter(({ waiting }) => waiting > 0)
      .sort((a, b) => b.waiting - a.waiting)
      .slice(0, MOST_NAMES)
      .map(({ key, waiting }) => ({ key: key.slice(0, LONGEST_NAME), waiting }));
    this.#addBeats(fleet, sum);
    return ended;
  }

  /** Ends the point that is open. Drops its numbers if the looks have paused for more than a minute since. */
  #end(number: number): Point | undefined {
    const { number: begun = number, ...sum } = this.#open ?? {};
    if (begun === number) return undefined;
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined || number > begun + 6) return undefined;
    const point = { atMs: (begun + 1) * POINT_MS, ...(sum as Omit<Sum, "number">) };
    this.#points = [...this.#points, point].slice(-this.#most);
    return point;
  }

  /** A client's report stays until its next beat. If several beats came between two looks, the last beat stands for all of them. */
  #addBeats({ atMs, clients }: Fleet, sum: Sum): void {
    const beats = new Map<string, number>();
    for (const { id, lastSeenMs, everyMs, acquired, stats, waits } of clients) {
      const beatMs = atMs - lastSeenMs;
      const beforeMs = this.#beats.get(id);
      const isNew = beforeMs !== undefined && beatMs - beforeMs > LEAST_BEAT_MS;
      beats.set(id, beforeMs === undefined || isNew ? beatMs : beforeMs);
      for (const { ageMs } of waits) sum.longestMs = Math.max(sum.longestMs, ageMs);
      if (!isNew) continue;
      const times = Math.max(1, Math.round((beatMs - beforeMs) / everyMs));
      sum.acquired += times * acquired;
      for (const { waited, notAcquired, waitMsMax } of stats) {
        sum.contentions += times * (waited + notAcquired);
        sum.longestMs = Math.max(sum.longestMs, waitMsMax);
      }
    }
    this.#beats = beats;
  }
}
