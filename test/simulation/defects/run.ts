import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { defects } from "./defects.js";
import { type Finding, isFound } from "./hunt/finding.js";
import { hunt, inParallel, type Prey } from "./hunt/hunt.js";
import { seenByTest } from "./hunt/suite.js";
import { markdownTable, type Row, summary, textLine } from "./hunt/table.js";
import { kindsOf, topologiesOf } from "./mutants/kinds.js";
import type { Mutant } from "./mutants/mutant.js";
import { allMutants } from "./mutants/mutants.js";
import { explainer } from "./survivors/survivor.js";
import { survivors } from "./survivors/survivors.js";
import { root } from "./variant.js";

export const defectsUsage: string = `npm run simulate -- --defects [NAMES] [options]
npm run simulate -- --mutants [IDS] [options]

Plants each defect, or each one-token mutant of the code that decides, in a copy of the simulator, and tells after how many schedules
and seconds it is found, by seed, in a kept history or in a scene. NAMES and IDS are parts of their names.

  --only A,B         the same as NAMES
  --seconds N        how long each is hunted for (60; mutants 10)
  --workers N        how many are hunted for at once (defects 1, mutants 2)
  --players N        in how many processes each is hunted for (defects 2, mutants 1)
  --any-kind         plays all kinds, not only those that a defect is about
  --sample N         each Nth mutant
  --tests            hands the mutants that survive without a reason to the tests of the suite
  --markdown FILE    writes the table: of mutants, of those that tests see, or that survive without a reason
  --results FILE     keeps what was found as JSON; what is in it already is not played again, so begin
                     a new one after a change
`;

interface Options {
  readonly only: readonly string[];
  readonly seconds: number;
  readonly workers: number;
  readonly players: number;
  readonly anyKind: boolean;
  readonly sample: number;
  readonly tests: boolean;
  readonly markdown: string | undefined;
  readonly results: string | undefined;
}

/** What `npm run simulate` does with the arguments beside `--defects` or `--mutants`. @returns the exit code */
export async function runDefects(what: "defects" | "mutants", args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      only: { type: "string" },
      seconds: { type: "string" },
      workers: { type: "string" },
      players: { type: "string" },
      "any-kind": { type: "boolean", default: false },
      sample: { type: "string" },
      tests: { type: "boolean", default: false },
      markdown: { type: "string" },
      results: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(defectsUsage);
    return 0;
  }
  const options: Options = {
    only: [...positionals, values.only ?? ""].flatMap((names) => names.split(",")).filter(Boolean),
    seconds: positive("seconds", values.seconds, what === "defects" ? 60 : 10),
    workers: positive("workers", values.workers, what === "defects" ? 1 : 2),
    players: positive("players", values.players, what === "defects" ? 2 : 1),
    anyKind: values["any-kind"],
    sample: positive("sample", values.sample, 1),
    tests: values.tests,
    markdown: values.markdown,
    results: values.results,
  };
  return what === "defects" ? huntDefects(options) : huntMutants(options);
}

/** @throws TypeError */
function positive(name: string, text: string | undefined, fallback: number): number {
  const value = text === undefined ? fallback : Number(text);
  if (value > 0) return value;
  throw new TypeError(`--${name} needs a number above 0, got "${text}"`);
}

async function huntDefects(options: Options): Promise<number> {
  const wanted = defects.filter(({ name }) => isWanted(name, options));
  if (wanted.length === 0) throw new TypeError(`no defect is called ${options.only.join(", ")}`);
  const preys = wanted.map(({ name, promise, edits, kinds, topologies }) => {
    const where = options.anyKind ? {} : { kinds, topologies };
    const { seconds, players } = options;
    return { name, promise, edits, seconds, players, kinds: undefined, ...where };
  });
  const rows = await huntAll(preys, options);
  if (options.markdown !== undefined) writeFileSync(options.markdown, markdownTable(rows));
  process.stdout.write(`\n${summary(rows)}\n`);
  const missed = rows.filter(({ finding }) => !isFound(finding));
  for (const { name, finding } of missed) process.stdout.write(`  ${name}: ${finding.how} ${finding.text}\n`);
  return missed.length === 0 ? 0 : 1;
}

async function huntMutants(options: Options): Promise<number> {
  const mutants = allMutants()
    .filter(({ id }) => isWanted(id, options))
    .filter((_, at) => at % options.sample === 0);
  const preys = mutants.map((mutant) => {
    const kinds = options.anyKind ? undefined : kindsOf(mutant.file);
    const topologies = options.anyKind ? undefined : topologiesOf(mutant);
    return {
      name: mutant.id,
      promise: `${mutant.was} -> ${mutant.line}`,
      edits: [editOf(mutant)],
      seconds: options.seconds,
      players: options.players,
      kinds,
      topologies,
    };
  });
  const explainers = survivors.map(explainer);
  const explained = new Set(
    mutants.filter((mutant) => explainers.some((explains) => explains(mutant))).map(({ id }) => id),
  );
  const rows = await huntAll(preys, options, async (prey, finding) => {
    if (finding.how !== "not found" || explained.has(prey.name) || !options.tests) return finding;
    const test = await seenByTest(prey.name, prey.edits);
    return test === undefined ? finding : { ...finding, how: "seen by a test", rule: test };
  });
  const alive = rows.filter(({ finding }) => finding.how === "not found");
  const unexplained = alive.filter(({ name }) => !explained.has(name));
  const seen = rows.filter(({ finding }) => finding.how === "seen by a test");
  if (options.markdown !== undefined)
    writeFileSync(options.markdown, markdownTable([...seen, ...unexplained]));
  const byTests = options.tests ? `${seen.length} more are seen by tests, ` : "";
  const share = ((100 * unexplained.length) / Math.max(1, rows.length)).toFixed(1);
  process.stdout.write(
    `\n${summary(rows)}; ${byTests}${alive.length - unexplained.length} survive for a reason, ${unexplained.length} (${share} %) without one:\n`,
  );
  for (const { name, promise } of unexplained) process.stdout.write(`  ${name}\n      ${promise}\n`);
  return unexplained.length <= rows.length / 10 ? 0 : 1;
}

function isWanted(name: string, { only }: Options): boolean {
  return only.length === 0 || only.some((part) => name.includes(part));
}

/** The whole file, as the text alone need not be there once. */
function editOf({ file, start, end, replacement }: Mutant) {
  const find = readFileSync(join(root, file), "utf8");
  return { file, find, replace: find.slice(0, start) + replacement + find.slice(end) };
}

type Named = Prey & { readonly promise: string };

/** What more is to be looked at once the hunt for one is over. */
type Then = (prey: Named, finding: Finding) => Promise<Finding>;

async function huntAll(
  preys: readonly Named[],
  options: Options,
  then: Then = (_, finding) => Promise.resolve(finding),
): Promise<readonly Row[]> {
  const known = readResults(options.results);
  const rows = new Map<string, Row>();
  // What is found although nothing is changed is a defect of its own: see to that first.
  const control = {
    name: "nothing changed",
    edits: [],
    seconds: options.seconds,
    players: options.players,
    kinds: undefined,
    promise: "What is found here is a defect of its own, or of the simulator.",
  };
  const controls: { finding?: Finding } = {};
  const all = [...(known.size === 0 ? [control] : []), ...preys];
  await inParallel(all, options.workers, async (prey) => {
    const finding = await then(prey, known.get(prey.name) ?? (await hunt(prey)));
    const row = { name: prey.name, promise: prey.promise, finding };
    process.stdout.write(`${textLine(row)}\n`);
    if (prey.edits.length === 0) {
      controls.finding = finding;
      return;
    }
    rows.set(prey.name, row);
    known.set(prey.name, finding);
    if (options.results !== undefined) writeFileSync(options.results, JSON.stringify([...known], null, 1));
  });
  if (controls.finding !== undefined && isFound(controls.finding)) {
    process.stdout.write(
      "\nthe simulator finds something although nothing is changed: what was found may be that, too\n",
    );
  }
  return preys.flatMap(({ name }) => rows.get(name) ?? []);
}

function readResults(file: string | undefined): Map<string, Finding> {
  if (file === undefined) return new Map();
  try {
    return new Map(JSON.parse(readFileSync(file, "utf8")) as [string, Finding][]);
  } catch {
    return new Map();
  }
}
