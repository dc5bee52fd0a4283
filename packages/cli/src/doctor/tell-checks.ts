import type { Output, Style } from "../output.js";
import { plain, wrapped } from "../text/plain.js";
import type { Finding, Level } from "./check.js";
import { docPage } from "./doc-page.js";
import type { Result } from "./run-checks.js";

const labels: Readonly<Record<Level, { readonly text: string; readonly style: Style }>> = {
  ok: { text: "ok", style: "green" },
  warn: { text: "warn", style: "yellow" },
  fail: { text: "FAIL", style: ["red", "bold"] },
  skip: { text: "skip", style: "dim" },
};

const LABEL_COLUMNS = 6;
const ID_COLUMNS = 13;
/** Longer lines are hard to read, even on a wide terminal. */
const WIDEST = 120;
/** With fewer columns there is no room for a text beside the name of a check. */
const NARROWEST = 30;

/** Prints the findings of a check. Below a finding that is not `ok` it prints why it matters, what to do, and a page to read. */
export function tellResult(output: Output, { id, findings }: Result): void {
  const width = widthFor(output);
  // On a narrow terminal the finding is below the name of the check, not beside it.
  const isNarrow = width < LABEL_COLUMNS + ID_COLUMNS + NARROWEST;
  const margin = " ".repeat(isNarrow ? LABEL_COLUMNS : LABEL_COLUMNS + ID_COLUMNS);
  const columns = width - margin.length;
  for (const { level, found, why, wanted, doc } of findings) {
    const { text, style } = labels[level];
    const head =
      output.paint(style, text.padEnd(LABEL_COLUMNS)) +
      output.paint("bold", isNarrow ? id : id.padEnd(ID_COLUMNS));
    if (isNarrow) output.line(head);
    const isQuiet = level === "ok" || level === "skip";
    wrapped(plain(found), columns).forEach((line, at) => {
      const before = at === 0 && !isNarrow ? head : margin;
      output.line(before + (isQuiet ? output.paint("dim", line) : line));
    });
    const below = (prose: string | undefined, paint: (line: string) => string) => {
      if (prose !== undefined)
        for (const line of wrapped(plain(prose), columns)) output.line(margin + paint(line));
    };
    below(why, (line) => output.paint("dim", line));
    below(wanted === undefined ? undefined : `→ ${wanted}`, (line) => line);
    below(doc && docPage(doc), (line) => output.paint(["dim", "underline"], line));
  }
}

export interface Verdict {
  readonly checks: number;
  readonly failed: number;
  readonly warned: number;
  readonly skipped: number;
}

/** The result of a check is its worst finding. */
export function verdictOf(results: readonly Result[]): Verdict {
  const levels = results.filter(({ moot }) => moot === undefined).map(({ findings }) => worst(findings));
  const count = (level: Level) => levels.filter((each) => each === level).length;
  return { checks: levels.length, failed: count("fail"), warned: count("warn"), skipped: count("skip") };
}

function worst(findings: readonly Finding[]): Level {
  const order: readonly Level[] = ["fail", "warn", "skip", "ok"];
  return order.find((level) => findings.some((finding) => finding.level === level)) ?? "ok";
}

/** The last lines: how many checks are `ok`, and what could not be checked. */
export function tellVerdict(output: Output, results: readonly Result[]): void {
  const { checks, failed, warned, skipped } = verdictOf(results);
  const well = checks - failed - warned - skipped;
  const parts = [
    output.paint("green", `${well} of ${checks} checks are ok`),
    ...(failed > 0 ? [output.paint(["red", "bold"], `${failed} failed`)] : []),
    ...(warned > 0 ? [output.paint("yellow", warned === 1 ? "1 warning" : `${warned} warnings`)] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
  ];
  output.line();
  for (const line of wrapped(parts.join(", "), widthFor(output))) output.line(line);
  const moot = results.flatMap(({ id, moot: why }) => (why === undefined ? [] : [`${id} (${why})`]));
  if (moot.length > 0)
    for (const line of wrapped(`skipped: ${moot.join(", ")}`, widthFor(output)))
      output.line(output.paint("dim", line));
}

function widthFor({ columns = WIDEST }: Output): number {
  return Math.min(columns, WIDEST);
}

/** The results in the form of `--json`. */
export function jsonOf(server: string, results: readonly Result[]): object {
  const checks = results.flatMap(({ id, findings, moot }) =>
    moot === undefined
      ? findings.map((finding) => entry(id, finding))
      : [entry(id, { level: "skip", found: moot })],
  );
  return { server, checks };
}

function entry(id: string, { level, found, why = null, wanted = null, doc = null }: Loose): object {
  return { id, level, found, why, wanted, doc };
}

type Loose = Pick<Finding, "level" | "found"> & {
  readonly [Name in "why" | "wanted" | "doc"]?: string | null;
};
