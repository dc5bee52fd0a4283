import { createHash } from "node:crypto";
import type { Choices } from "../chooser/chooser.js";

/** Whether the schedule of these choices still breaks the promise in question. */
export type StillFails = (choices: Choices) => Promise<boolean>;

export interface ShrinkLimits {
  /** Asked before each try: whether to stop with what there is. */
  readonly isOver: () => boolean;
}

export interface Shrunk {
  readonly choices: Choices;
  readonly tries: number;
  /** False when time was over first. */
  readonly isDone: boolean;
}

/**
 * Makes choices that fail smaller as long as they fail: whole streams become plain, then stretches of them are cut out or
 * become plain, the large ones first, then single numbers grow smaller; again from the start until nothing changes. The order is
 * fixed, so that the same choices always shrink to the same, unless the time runs out.
 *
 * @returns choices that were seen to fail; undefined when those given did not fail again
 */
export async function shrink(
  choices: Choices,
  stillFails: StillFails,
  limits: ShrinkLimits,
): Promise<Shrunk | undefined> {
  if (!(await stillFails(choices))) return undefined;
  const search = new Search(choices, stillFails, limits);
  try {
    let before: Choices;
    do {
      before = search.best;
      await search.takes({});
      await plainStreams(search);
      for (let parts = 1; parts < 2 * search.longest(); parts *= 2) {
        for (const stream of search.streams()) await withoutStretches(search, stream, parts);
        for (const stream of search.streams()) await plainStretches(search, stream, parts);
      }
      for (const stream of search.streams()) await smallerNumbers(search, stream);
    } while (search.best !== before);
    return { choices: search.best, tries: search.tries, isDone: true };
  } catch (error) {
    if (!(error instanceof TimeOver)) throw error;
    return { choices: search.best, tries: search.tries, isDone: false };
  }
}

class TimeOver extends Error {}

/** What is missing counts as 0: zeros at the end, and streams of nothing else, are left out. */
function tidied(choices: Choices): Choices {
  const entries = Object.entries(choices).map(
    ([name, numbers]) => [name, withoutLastZeros(numbers)] as const,
  );
  return Object.fromEntries(entries.filter(([, numbers]) => numbers.length > 0));
}

function withoutLastZeros(numbers: readonly number[]): readonly number[] {
  return numbers.slice(0, numbers.findLastIndex((number) => number !== 0) + 1);
}

class Search {
  tries = 0;
  readonly #known = new Set<string>();

  constructor(
    public best: Choices,
    private readonly stillFails: StillFails,
    private readonly limits: ShrinkLimits,
  ) {}

  /** Longest first: there is most to gain. */
  streams(): string[] {
    return Object.keys(this.best).sort(
      (one, other) => this.numbers(other).length - this.numbers(one).length || (one < other ? -1 : 1),
    );
  }

  numbers(stream: string): readonly number[] {
    return Object.hasOwn(this.best, stream) ? (this.best[stream] ?? []) : [];
  }

  longest(): number {
    return Math.max(0, ...Object.values(this.best).map((numbers) => numbers.length));
  }

  /** Takes the change for the best so far if it still fails. */
  async takes(changes: Choices): Promise<boolean> {
    const choices = tidied({ ...this.best, ...changes });
    const text = JSON.stringify(choices);
    if (text === JSON.stringify(this.best)) return false;
    const key = createHash("sha1").update(text).digest("base64");
    if (this.#known.has(key)) return false;
    if (this.limits.isOver()) throw new TimeOver();
    this.tries += 1;
    if (!(await this.stillFails(choices))) {
      this.#known.add(key);
      return false;
    }
    this.best = choices;
    return true;
  }
}

/** Half of the streams at once, then quarters, down to single ones. */
async function plainStreams(search: Search): Promise<void> {
  const names = search.streams();
  for (let size = Math.ceil(names.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < names.length; from += size) {
      await search.takes(Object.fromEntries(names.slice(from, from + size).map((name) => [name, []])));
    }
  }
}

/** The end first: nothing that comes before it moves. */
async function withoutStretches(search: Search, stream: string, parts: number): Promise<void> {
  const size = Math.ceil(search.numbers(stream).length / parts);
  for (let end = search.numbers(stream).length; end > 0; end -= size) {
    const numbers = search.numbers(stream);
    const from = Math.max(0, end - size);
    await search.takes({ [stream]: [...numbers.slice(0, from), ...numbers.slice(end)] });
  }
}

async function plainStretches(search: Search, stream: string, parts: number): Promise<void> {
  const size = Math.ceil(search.numbers(stream).length / parts);
  for (let end = search.numbers(stream).length; end > 0; end -= size) {
    const from = Math.max(0, end - size);
    const plain = search.numbers(stream).map((number, at) => (from <= at && at < end ? 0 : number));
    await search.takes({ [stream]: plain });
  }
}

/** Each number down to the least that fails, as far as halving finds it. */
async function smallerNumbers(search: Search, stream: string): Promise<void> {
  for (let at = 0; at < search.numbers(stream).length; at += 1) {
    const now = () => search.numbers(stream)[at] ?? 0;
    const takes = (number: number) =>
      search.takes({
        [stream]: search.numbers(stream).map((other, place) => (place === at ? number : other)),
      });
    let tooSmall = -1;
    while (now() - tooSmall > 1) {
      const half = tooSmall + Math.floor((now() - tooSmall) / 2);
      if (!(await takes(half))) tooSmall = half;
    }
  }
}
