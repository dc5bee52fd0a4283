import type { HistoryLine } from "../outcome.js";

/** UUIDs, and what else is long and random: nobody reads those. */
const LONG_ID =
  /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b(?=[a-f]*\d)[0-9a-f]{16,64}\b/g;

/** The history with c1, c2, … in place of long ids, and what these stand for. */
export function shortened(history: readonly HistoryLine[]): {
  readonly lines: readonly HistoryLine[];
  readonly legend: readonly (readonly [short: string, long: string])[];
} {
  const names = new Map<string, string>();
  const nameOf = (id: string) => {
    const name = names.get(id) ?? `c${names.size + 1}`;
    names.set(id, name);
    return name;
  };
  const lines = history.map((line) => ({ ...line, text: line.text.replaceAll(LONG_ID, nameOf) }));
  return { lines, legend: [...names].map(([long, short]) => [short, long] as const) };
}
