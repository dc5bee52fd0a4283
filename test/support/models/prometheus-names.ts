import { markdownTables } from "./markdown-tables.js";

/** An instrument as the guide lists it: test/otel holds that to the code. */
export interface ListedInstrument {
  readonly group: string;
  /** With dots, as OpenTelemetry has it. */
  readonly name: string;
  /** Its names in Prometheus, of which each series has one: a unit may be in them, and a histogram has three. */
  readonly spellings: readonly string[];
}

const ENDS: Readonly<Record<string, readonly string[]>> = {
  histogram: ["_bucket", "_count", "_sum"],
  counter: ["_total"],
  "up-down counter": [""],
  "observable gauge": [""],
};

/** @param guide the text of docs/guide/opentelemetry.md */
export function listedInstruments(guide: string): readonly ListedInstrument[] {
  const table = markdownTables(guide).find(({ columns }) => columns[0] === "Group");
  return (table?.rows ?? []).map(([group, name, type = "", unit]) => {
    const [plain, ends] = [code(name).replaceAll(".", "_"), ENDS[type]];
    if (ends === undefined) throw new Error(`no instrument of Prometheus is known for ${type}`);
    // The exporter for JavaScript leaves the unit out; a collector and OTLP write it. Units in braces are written by none.
    const units = code(unit) === "s" ? ["", "_seconds"] : [""];
    const spellings = units.flatMap((written) => ends.map((end) => `${plain}${written}${end}`));
    return { group: code(group), name: code(name), spellings };
  });
}

/** The attributes as labels, each with the values that the guide lists. */
export function listedLabels(guide: string): ReadonlyMap<string, readonly string[]> {
  const table = markdownTables(guide).find(({ columns }) => columns[0] === "Attribute");
  return new Map(
    (table?.rows ?? []).map(([name, values = ""]) => [
      code(name).replaceAll(".", "_"),
      [...values.matchAll(/`([^`]+)`/g)].map(([, value = ""]) => value),
    ]),
  );
}

/** What a text says in words of Prometheus that are ours, with each unit that may be there and may not. */
export function namesIn(text: string): readonly string[] {
  const names = [...text.matchAll(/\bholdfast_[a-z_]+(?:\(_seconds\)\?[a-z_]*)?/g)].map(([name]) => name);
  return [...new Set(names)].flatMap((name) =>
    name.includes("(") ? ["", "_seconds"].map((unit) => name.replace("(_seconds)?", unit)) : [name],
  );
}

/** The selectors and groupings of a text: `holdfast_via="timer"` with its values. */
export function valuesIn(text: string, label: string): readonly string[] {
  const selectors = text.matchAll(new RegExp(`\\b${label}(?:=|!=|=~|!~)\\\\?"([^"\\\\]*)\\\\?"`, "g"));
  return [...selectors].flatMap(([, values = ""]) => values.split("|"));
}

function code(cell = ""): string {
  return /`(.+)`/.exec(cell)?.[1] ?? "";
}
