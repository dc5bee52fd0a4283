/**
 * A test for the text in the filter: a glob with `*`, `?`, `[a-z]` and `\`, as on the server. A text without these characters may be
 * anywhere in a name. The time of the test grows at most with the length of the name times the length of the pattern.
 */
export function nameFilter(typed: string): (name: string) => boolean {
  if (typed === "") return () => true;
  const places = placesOf(patternOf(typed));
  return (name) => fits([...name], places);
}

/** The filter as the server's `match`. */
export function patternOf(typed: string): string {
  return /[*?[\\]/.test(typed) ? typed : `*${typed}*`;
}

type Place = "*" | ((character: string) => boolean);

function fits(text: readonly string[], places: readonly Place[]): boolean {
  let [at, place, starAt, starPlace] = [0, 0, 0, -1];
  while (at < text.length) {
    const wanted = places[place];
    if (wanted === "*") {
      [starAt, starPlace] = [at, place];
      place += 1;
    } else if (wanted?.(text[at] ?? "")) {
      at += 1;
      place += 1;
    } else if (starPlace >= 0) {
      // Lets the latest star match one more character.
      starAt += 1;
      [at, place] = [starAt, starPlace + 1];
    } else {
      return false;
    }
  }
  return places.slice(place).every((left) => left === "*");
}

function placesOf(pattern: string): Place[] {
  const places: Place[] = [];
  for (const [part = "", set] of pattern.matchAll(/\[((?:\\.|[^\]\\])*)\]?|\\?./gsu)) {
    if (part === "*") places.push("*");
    else if (part === "?") places.push(() => true);
    else if (set !== undefined) places.push(setOf(set));
    else places.push((character) => character === part.replace(/^\\(?=.)/su, ""));
  }
  return places;
}

function setOf(set: string): (character: string) => boolean {
  const isNegated = set.startsWith("^");
  const parts = [...(isNegated ? set.slice(1) : set).matchAll(/\\?(.)(?:-\\?(.))?/gsu)];
  return (character) =>
    parts.some(([, from = "", to = from]) => {
      const [least, most] = from <= to ? [from, to] : [to, from];
      return character >= least && character <= most;
    }) !== isNegated;
}
