import type { Rule, Stats } from "../outcome.js";
import { Distinct } from "./distinct.js";
import type { Memory } from "./messages.js";

export interface BrokenPromise {
  readonly seed: number;
  readonly rule: Rule;
  readonly text: string;
}

/** What a campaign has seen so far. */
export class Tally {
  schedules = 0;
  commands = 0;
  longestWaitMs = 0;
  readonly broken: BrokenPromise[] = [];
  readonly states = new Distinct();
  /** By sort of fault: how many hit a command under way. */
  readonly hits = new Map<string, number>();
  readonly exceptions = new Map<string, number>();
  /** By kind, by sort of fault: the schedules in which the kind was used and the fault hit. */
  readonly cells = new Map<string, Map<string, number>>();
  readonly kinds = new Map<string, number>();
  readonly memory = new Map<string, Memory[]>();
  readonly #commandsOf = new Map<number, number>();
  readonly #faultsOf = new Map<number, number>();

  add(stats: Stats): void {
    this.schedules += 1;
    this.commands += stats.commands;
    this.longestWaitMs = Math.max(this.longestWaitMs, stats.longestWaitMs);
    raise(this.#commandsOf, stats.commands);
    const hits = Object.entries(stats.faults).filter(([, count]) => count > 0);
    raise(
      this.#faultsOf,
      hits.reduce((sum, [, count]) => sum + count, 0),
    );
    for (const [sort, count] of hits) raise(this.hits, sort, count);
    for (const [name, count] of Object.entries(stats.exceptions)) raise(this.exceptions, name, count);
    for (const state of stats.states) this.states.add(state);
    for (const kind of stats.kinds) {
      raise(this.kinds, kind);
      const row = this.cells.get(kind) ?? new Map<string, number>();
      this.cells.set(kind, row);
      for (const [sort] of hits) raise(row, sort);
    }
  }

  remember(worker: string, memory: Memory): void {
    const known = this.memory.get(worker) ?? [];
    this.memory.set(worker, [...known, memory]);
  }

  get medianCommands(): number {
    return median(this.#commandsOf);
  }

  get medianFaults(): number {
    return median(this.#faultsOf);
  }
}

function raise<Key>(counts: Map<Key, number>, key: Key, by = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + by);
}

/** Of values that were counted one by one: the middle one, or the lower of two. */
function median(counts: ReadonlyMap<number, number>): number {
  let left = Math.ceil([...counts.values()].reduce((sum, count) => sum + count, 0) / 2);
  for (const [value, count] of [...counts].sort(([one], [other]) => one - other)) {
    left -= count;
    if (left <= 0) return value;
  }
  return 0;
}
