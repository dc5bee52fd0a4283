/** The characters that fit in one place of a pattern. */
interface PatternPlace {
  readonly ranges: readonly (readonly [from: string, to: string])[];
  /** Whether the listed characters are excluded, and all others match. */
  readonly isNegated: boolean;
}

const WORD_BITS = 32;

/**
 * A test for the globs of Redis: `*`, `?`, `[abc]`, `[^abc]`, `[a-z]`, and `\` before a character that stands for itself. It follows all
 * possible matches at once, as the bits of a set, so that its time depends only on the length of the text.
 */
export function glob(pattern: string): (text: string) => boolean {
  const { places, stars } = parsed([...pattern]);
  const size = Math.floor(places.length / WORD_BITS) + 1;
  const fitting = new Fitting(places, size);
  const staying = new Uint32Array(size);
  for (const at of stars) add(staying, at);
  return (text) => fits(text, staying, fitting, places.length);
}

/** @param staying the numbers of places before a star @param last the number of all places */
function fits(text: string, staying: Uint32Array, fitting: Fitting, last: number): boolean {
  /** As bits: how many places the text that was read so far may fill. */
  const filled = new Uint32Array(staying.length);
  add(filled, 0);
  for (const char of text) {
    const next = fitting.places(char);
    let carry = 0;
    let any = 0;
    for (let word = 0; word < filled.length; word += 1) {
      const before = filled[word] ?? 0;
      const moved = before & (next[word] ?? 0);
      const after = (moved << 1) | carry | (before & (staying[word] ?? 0));
      carry = moved >>> (WORD_BITS - 1);
      filled[word] = after;
      any |= after;
    }
    if (any === 0) return false;
  }
  return ((filled[Math.floor(last / WORD_BITS)] ?? 0) & (1 << (last % WORD_BITS))) !== 0;
}

function add(set: Uint32Array, at: number): void {
  const word = Math.floor(at / WORD_BITS);
  set[word] = (set[word] ?? 0) | (1 << (at % WORD_BITS));
}

/** The places that a character fits. All characters between the same two named characters fit the same places. */
class Fitting {
  readonly #places: readonly PatternPlace[];
  readonly #size: number;
  /** All characters that the pattern names, in order. */
  readonly #named: readonly string[];
  readonly #known = new Map<number, Uint32Array>();

  constructor(places: readonly PatternPlace[], size: number) {
    this.#places = places;
    this.#size = size;
    this.#named = [...new Set(places.flatMap(({ ranges }) => ranges.flat()))].sort();
  }

  places(char: string): Uint32Array {
    const group = this.#groupOf(char);
    const known = this.#known.get(group);
    if (known !== undefined) return known;
    const set = new Uint32Array(this.#size);
    for (const [at, { ranges, isNegated }] of this.#places.entries()) {
      const isIn = ranges.some(([from, to]) => from <= char && char <= to);
      if (isIn !== isNegated) add(set, at);
    }
    this.#known.set(group, set);
    return set;
  }

  /** An odd number for each named character, and an even number for the characters between two of them. */
  #groupOf(char: string): number {
    let [low, high] = [0, this.#named.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#named[middle] ?? "") < char) low = middle + 1;
      else high = middle;
    }
    return 2 * low + (this.#named[low] === char ? 1 : 0);
  }
}

const ANY: PatternPlace = { ranges: [], isNegated: true };

/** The places without the stars, and how many places are before each star. */
function parsed(pattern: readonly string[]): { places: readonly PatternPlace[]; stars: readonly number[] } {
  const [places, stars]: [PatternPlace[], number[]] = [[], []];
  for (let at = 0; at < pattern.length; at += 1) {
    const char = pattern[at] ?? "";
    if (char === "*") stars.push(places.length);
    else if (char === "?") places.push(ANY);
    else if (char === "[") {
      const { place, end } = classOf(pattern, at + 1);
      places.push(place);
      at = end;
    } else {
      const literal = char === "\\" && at + 1 < pattern.length ? (pattern[++at] ?? "") : char;
      places.push({ ranges: [[literal, literal]], isNegated: false });
    }
  }
  return { places, stars };
}

/** A class ends with a bracket, or at the end of the pattern. @param start the position behind its opening bracket */
function classOf(
  pattern: readonly string[],
  start: number,
): { readonly place: PatternPlace; readonly end: number } {
  const isNegated = pattern[start] === "^";
  const ranges: (readonly [from: string, to: string])[] = [];
  let at = isNegated ? start + 1 : start;
  for (; at < pattern.length && pattern[at] !== "]"; at += 1) {
    const isEscape = pattern[at] === "\\" && at + 1 < pattern.length;
    if (isEscape) at += 1;
    const from = pattern[at] ?? "";
    if (!isEscape && pattern[at + 1] === "-" && at + 2 < pattern.length) {
      const to = pattern[at + 2] ?? "";
      ranges.push(from <= to ? [from, to] : [to, from]);
      at += 2;
    } else ranges.push([from, from]);
  }
  return { place: { ranges, isNegated }, end: at };
}
