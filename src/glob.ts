/** Whether one character fits a place of a pattern; "*" fits any number of them. */
type Place = "*" | ((char: string) => boolean);

/**
 * A test for the globs of Redis: `*`, `?`, `[abc]`, `[^abc]`, `[a-z]`, and `\` before a character that stands for itself. Of the stars
 * only the last is tried again, so that the time is at most the product of both lengths.
 */
export function glob(pattern: string): (text: string) => boolean {
  const places = placesOf([...pattern]);
  return (text) => fits(places, [...text]);
}

function fits(places: readonly Place[], chars: readonly string[]): boolean {
  let [at, next] = [0, 0];
  /** The place behind the last star, and the first character that the star has not taken yet. */
  let [behind, from] = [-1, 0];
  while (next < chars.length) {
    const place = places[at];
    if (place === "*") {
      at += 1;
      behind = at;
      from = next;
    } else if (place?.(chars[next] ?? "")) {
      at += 1;
      next += 1;
    } else if (behind >= 0) {
      at = behind;
      from += 1;
      next = from;
    } else return false;
  }
  while (places[at] === "*") at += 1;
  return at === places.length;
}

function placesOf(pattern: readonly string[]): Place[] {
  const places: Place[] = [];
  for (let at = 0; at < pattern.length; at += 1) {
    const char = pattern[at] ?? "";
    if (char === "*") places.push("*");
    else if (char === "?") places.push(() => true);
    else if (char === "[") {
      const { test, end } = classOf(pattern, at + 1);
      places.push(test);
      at = end;
    } else {
      const literal = char === "\\" && at + 1 < pattern.length ? (pattern[++at] ?? "") : char;
      places.push((one) => one === literal);
    }
  }
  return places;
}

/** A class ends with a bracket, or with the pattern. @param start behind its opening bracket */
function classOf(
  pattern: readonly string[],
  start: number,
): { readonly test: (char: string) => boolean; readonly end: number } {
  const isNegated = pattern[start] === "^";
  const ranges: (readonly [from: string, to: string])[] = [];
  let at = isNegated ? start + 1 : start;
  for (; at < pattern.length && pattern[at] !== "]"; at += 1) {
    if (pattern[at] === "\\" && at + 1 < pattern.length) {
      at += 1;
      ranges.push([pattern[at] ?? "", pattern[at] ?? ""]);
    } else if (pattern[at + 1] === "-" && at + 2 < pattern.length) {
      ranges.push([pattern[at] ?? "", pattern[at + 2] ?? ""]);
      at += 2;
    } else ranges.push([pattern[at] ?? "", pattern[at] ?? ""]);
  }
  const isIn = (char: string) =>
    ranges.some(([a, b]) => (a <= char && char <= b) || (b <= char && char <= a));
  return { test: (char) => isIn(char) !== isNegated, end: at };
}
