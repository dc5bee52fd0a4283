import type { Tally } from "./tally.js";

/** What a campaign was, and what there is to be covered. */
export interface TableHead {
  readonly firstSeed: number;
  readonly elapsedMs: number;
  readonly end: string;
  readonly kinds: readonly string[];
  readonly faults: readonly string[];
  /** Whether there is a topology that has both. */
  readonly canMeet: (kind: string, fault: string) => boolean;
  /** Whether each kind must have met each fault: not where few were played, or only some kinds. */
  readonly isWhole: boolean;
}

/** A campaign of the default mix that is as long as this has met each fault with each kind. */
export const COVERS_ALL = 20_000;

const MB = 1024 * 1024;

/** The cells that no schedule has filled. */
export function emptyCells(tally: Tally, { kinds, faults, canMeet }: TableHead): string[] {
  return kinds.flatMap((kind) =>
    faults
      .filter((sort) => canMeet(kind, sort) && !tally.cells.get(kind)?.has(sort))
      .map((sort) => `${kind} × ${sort}`),
  );
}

/** @param width how many characters fit in a line */
export function table(tally: Tally, head: TableHead, width: number): string {
  const seconds = head.elapsedMs / 1_000;
  const facts: readonly (readonly [string, string])[] = [
    [
      "schedules",
      `${whole(tally.schedules)} from seed ${head.firstSeed}, ${rate(tally.schedules, seconds)}; ${head.end}`,
    ],
    [
      "script calls",
      `${whole(tally.commands)}, ${rate(tally.commands, seconds)}, median ${whole(tally.medianCommands)} a schedule`,
    ],
    ["faults that hit a command under way", `median ${whole(tally.medianFaults)} a schedule`],
    ["distinct states", `${whole(tally.states.count)}${tally.states.isExact ? "" : " (an estimate, ± 2 %)"}`],
    ["longest wait after the faults", `${whole(tally.longestWaitMs)} ms`],
    ["time", seconds < 120 ? `${seconds.toFixed(1)} s` : `${(seconds / 60).toFixed(1)} min`],
    ["violations", whole(tally.broken.length)],
  ];
  const blocks = [
    pairs(facts),
    counts("documented exceptions that were seen", tally.exceptions),
    coverage(tally, head, width),
    memory(tally),
    violations(tally),
    uncovered(tally, head),
  ];
  return blocks.filter((block) => block !== "").join("\n\n");
}

/** The same for programs. */
export function tableAsJson(tally: Tally, head: TableHead): unknown {
  return {
    ...head,
    schedules: tally.schedules,
    commands: { total: tally.commands, median: tally.medianCommands },
    medianFaults: tally.medianFaults,
    states: { count: tally.states.count, isExact: tally.states.isExact },
    longestWaitMs: tally.longestWaitMs,
    hits: Object.fromEntries(tally.hits),
    exceptions: Object.fromEntries(tally.exceptions),
    coverage: Object.fromEntries([...tally.cells].map(([kind, row]) => [kind, Object.fromEntries(row)])),
    emptyCells: emptyCells(tally, head),
    memory: Object.fromEntries(tally.memory),
    broken: tally.broken,
  };
}

function coverage(tally: Tally, { kinds, faults, canMeet }: TableHead, width: number): string {
  const first = Math.max("schedules".length, ...faults.map((sort) => sort.length)) + 2;
  const column = (name: string) => Math.max(name.length, 7) + 2;
  const hits = "hits".padStart(11);
  const parts: string[][] = [[]];
  let room = width - first - hits.length;
  for (const kind of kinds) {
    if (column(kind) > room && parts.at(-1)?.length !== 0) {
      parts.push([]);
      room = width - first;
    }
    room -= column(kind);
    parts.at(-1)?.push(kind);
  }
  const cells = (names: readonly string[], text: (kind: string) => string) =>
    names.map((kind) => text(kind).padStart(column(kind))).join("");
  const blocks = parts.map((names, nth) => {
    const total = (text: string) => (nth === 0 ? text.padStart(hits.length) : "");
    return [
      "".padEnd(first) + total("hits") + cells(names, (kind) => kind),
      "schedules".padEnd(first) + total("") + cells(names, (kind) => whole(tally.kinds.get(kind) ?? 0)),
      ...faults.map(
        (sort) =>
          sort.padEnd(first) +
          total(whole(tally.hits.get(sort) ?? 0)) +
          cells(names, (kind) => (canMeet(kind, sort) ? whole(tally.cells.get(kind)?.get(sort) ?? 0) : "-")),
      ),
    ].join("\n");
  });
  return `faults that hit, and in how many schedules of each kind\n${blocks.join("\n\n")}`;
}

function memory(tally: Tally): string {
  const lines = [...tally.memory].flatMap(([worker, census]) => {
    const moments = [census[0], census[Math.floor(census.length / 2)], census.at(-1)];
    const row = (what: string, value: (moment: (typeof census)[number]) => string) =>
      `  ${`${worker}, ${what}`.padEnd(32)}${moments.map((moment) => (moment ? value(moment) : "").padStart(9)).join("")}`;
    return [
      row("heap in MB", ({ heapBytes }) => (heapBytes / MB).toFixed(1)),
      row("resident in MB", ({ residentBytes }) => (residentBytes / MB).toFixed(1)),
      row("open resources", ({ resources }) => whole(resources)),
    ];
  });
  if (lines.length === 0) return "";
  const head = ["start", "middle", "end"].map((moment) => moment.padStart(9)).join("");
  return [`${"census of each process".padEnd(34)}${head}`, ...lines].join("\n");
}

function violations(tally: Tally): string {
  if (tally.broken.length === 0) return "";
  const lines = tally.broken.map(({ seed, rule, text }) => `  seed ${seed}  ${rule}: ${text.split("\n")[0]}`);
  return `violations\n${lines.join("\n")}\nTo see one: npm run simulate -- --replay SEED --trace, with the --only of this campaign`;
}

function uncovered(tally: Tally, head: TableHead): string {
  const empty = emptyCells(tally, head);
  if (!head.isWhole || empty.length === 0) return "";
  return `FAILED: no schedule has tried\n  ${empty.join("\n  ")}`;
}

function counts(title: string, by: ReadonlyMap<string, number>): string {
  if (by.size === 0) return "";
  return `${title}\n${pairs([...by].sort().map(([name, count]) => [`  ${name}`, whole(count)]))}`;
}

function pairs(rows: readonly (readonly [string, string])[]): string {
  const first = Math.max(...rows.map(([name]) => name.length)) + 2;
  return rows.map(([name, value]) => name.padEnd(first) + value).join("\n");
}

function rate(count: number, seconds: number): string {
  return `${whole(Math.round(count / Math.max(seconds, 0.001)))} a second`;
}

export function whole(number: number): string {
  return Math.round(number).toLocaleString("en-US");
}
