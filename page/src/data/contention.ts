import type { LockRow, Point } from "../../../src/inspector/format.js";

/** Sixty steps of ten seconds are ten minutes. */
const STEPS = 60;

/** How many calls waited for a lock, the latest step last. */
export type Steps = readonly number[];

/** Remembers for each contended lock how many calls waited: one step for each point that the server sends. */
export class Contention {
  #past = new Map<string, number[]>();
  /** The largest number of calls that waited at once since the latest point. */
  #now = new Map<string, number>();

  restart(history: readonly Point[], locks: readonly LockRow[]): ReadonlyMap<string, Steps> {
    this.#past = new Map();
    this.#now = new Map();
    for (const point of history.slice(-STEPS)) this.#step(point);
    for (const lock of locks) this.look(lock);
    return this.#told();
  }

  look(lock: LockRow): void {
    const waiting = waitingFor(lock);
    if (waiting > (this.#now.get(lock.key) ?? 0)) this.#now.set(lock.key, waiting);
  }

  point(point: Point, locks: Iterable<LockRow>): ReadonlyMap<string, Steps> {
    this.#step(point);
    for (const lock of locks) this.look(lock);
    return this.#told();
  }

  #step({ busiest }: Point): void {
    for (const { key, waiting } of busiest) {
      if (waiting > (this.#now.get(key) ?? 0)) this.#now.set(key, waiting);
    }
    for (const key of this.#now.keys()) {
      if (!this.#past.has(key)) this.#past.set(key, new Array<number>(STEPS).fill(0));
    }
    for (const [key, steps] of this.#past) {
      steps.push(this.#now.get(key) ?? 0);
      steps.shift();
      if (steps.every((step) => step === 0)) this.#past.delete(key);
    }
    this.#now.clear();
  }

  #told(): ReadonlyMap<string, Steps> {
    return new Map([...this.#past].map(([key, steps]) => [key, [...steps]]));
  }
}

/** How many calls wait for a lock, if it is known. */
export function waitingFor({ waiting, more }: LockRow): number {
  return waiting.length + more.waiting;
}
