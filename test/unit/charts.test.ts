import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { charts } from "../../scripts/charts/catalogue.mjs";
import { chartDataOf } from "../../scripts/charts/chart-data.mjs";
import { drawChart } from "../../scripts/charts/draw.mjs";
import { drawRecorded, publishCharts, recordCharts } from "../../scripts/charts/files.mjs";
import { growthCharts } from "../../scripts/charts/growth-catalogue.mjs";
import { rowsOf } from "../../scripts/charts/rows.mjs";
import { themes } from "../../scripts/charts/themes.mjs";
import { root } from "../support/tidy/tree.js";

type Chart = (typeof charts)[number];
type ChartData = NonNullable<ReturnType<typeof chartDataOf>>;
type Metrics = Readonly<Record<string, number | string>>;

const names = [...charts, ...growthCharts].map(({ name }) => name);
const published = join(root, "docs/internals/charts");
/** Of a row, for its name and its figures, with a gap between them. */
const ROW_WIDTH = 485;
/** In DejaVu Sans, which is wider than other usual fonts; figures are narrower than letters. */
const NAME_LETTER = 9.5;
const FIGURES_LETTER = 8;

function chartNamed(name: string): Chart {
  const chart = charts.find((one) => one.name === name);
  if (chart === undefined) throw new Error(`there is no chart ${name}`);
  return chart;
}

function recorded(name: string): ChartData {
  return JSON.parse(readFileSync(join(published, `${name}.json`), "utf8"));
}

const options = { quick: false, rounds: 2, forMs: 500 };
const head = { cores: 2, load: 0.3, node: "v20.19.0", versions: ["holdfast 0.1.0"], options };

function run(scenario: string, library: string, ...rounds: readonly Metrics[]) {
  return rounds.map((metrics) => ({ scenario, library, server: "redis-server 7.0.15", metrics }));
}

function perSecond(...values: readonly number[]): Metrics[] {
  return values.map((value) => ({ perSecond: value, jain: 0.5 }));
}

/** The texts of a picture. */
function textsIn(svg: string): string[] {
  return [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text = ""]) => text);
}

describe("the published charts", () => {
  it.each(charts.map(({ name }) => name))(
    "%s is drawn from its recorded data alone, to the letter",
    async (name) => {
      for (const theme of themes) {
        const svg = readFileSync(join(published, `${name}-${theme.name}.svg`), "utf8");
        // The whole of two pictures says nothing in a report.
        expect((await drawChart(chartNamed(name), recorded(name), theme)) === svg).toBe(true);
      }
    },
  );

  it("are those of the two catalogues, with their data, and no others", () => {
    const files = names.flatMap((name) => [`${name}-dark.svg`, `${name}-light.svg`, `${name}.json`]);
    expect(readdirSync(published).toSorted()).toEqual(files.toSorted());
  });

  it.each(charts.map(({ name }) => name))("%s has room for each name beside its figures", (name) => {
    const rows = rowsOf(chartNamed(name), recorded(name));
    expect(rows.length).toBeGreaterThan(1);
    for (const { library, text } of rows) {
      const width = library.length * NAME_LETTER + text.length * FIGURES_LETTER;
      expect(width, `${library} ${text}`).toBeLessThanOrEqual(ROW_WIDTH);
    }
  });

  it("all stand on the performance page, and two of them in the README, for light and dark pages", () => {
    const all = picturesIn("docs/internals/performance.md", "charts/");
    expect(all.toSorted()).toEqual(names.toSorted());
    const some = picturesIn("README.md", "docs/internals/charts/");
    expect(some).toHaveLength(2);
    expect(all).toEqual(expect.arrayContaining(some));
  });
});

/** The charts that a document shows: both variants of each, with words for those who do not see it. */
function picturesIn(document: string, folder: string): string[] {
  const text = readFileSync(join(root, document), "utf8");
  const all = text.match(/<picture>[\s\S]*?<\/picture>/g) ?? [];
  const pictures = all.filter((picture) => picture.includes(`"${folder}`));
  return pictures.map((picture) => {
    const [, name = ""] = /<img alt="[^"]{40,}" src="[^"]*?([^"/]+)-light\.svg">/.exec(picture) ?? [];
    expect(picture).toContain(
      `<source media="(prefers-color-scheme: dark)" srcset="${folder}${name}-dark.svg">`,
    );
    expect(picture).toContain(`src="${folder}${name}-light.svg"`);
    return name;
  });
}

describe("the data of a chart", () => {
  it("are ratios of all rounds to the median of the raw pair", () => {
    const runs = [
      ...run("one-at-a-time", "holdfast", ...perSecond(30, 90)),
      ...run("one-at-a-time", "raw-ioredis", ...perSecond(50, 150)),
      ...run("256-at-once", "holdfast", ...perSecond(7)),
    ];
    expect(chartDataOf(chartNamed("one-at-a-time"), { head, runs })).toEqual({
      chart: "one-at-a-time",
      cores: 2,
      load: 0.3,
      node: "v20.19.0",
      servers: ["redis-server 7.0.15"],
      versions: ["holdfast 0.1.0"],
      rounds: 2,
      loopMs: 500,
      reference: "raw-ioredis",
      series: [
        { library: "holdfast", role: "ours", values: [0.3, 0.9] },
        { library: "raw-ioredis", role: "raw", values: [0.5, 1.5] },
      ],
    });
  });

  it("are ratios to the best peer, which is never holdfast", () => {
    const runs = [
      ...run("64-tasks", "holdfast", ...perSecond(100, 100)),
      ...run("64-tasks", "redlock-4", ...perSecond(10, 10)),
      ...run("64-tasks", "redlock-5", ...perSecond(5, 25)),
    ];
    const data = chartDataOf(chartNamed("64-tasks"), { head, runs });
    expect(data?.reference).toBe("redlock-5");
    expect(data?.series.map(({ values, beside }) => [...values, beside])).toEqual([
      [6.667, 6.667, "Jain 0.50"],
      [0.6667, 0.6667, "Jain 0.50"],
      [0.3333, 1.667, "Jain 0.50"],
    ]);
  });

  it("are long waits as ratios to those of the peer that has the lock most often", () => {
    const waits = (library: string, each: number, p99Us: number) =>
      run("4-processes", library, { perSecond: each, p99Us, served: 32 });
    const runs = [...waits("holdfast", 9, 30), ...waits("redlock-4", 5, 60), ...waits("redlock-5", 1, 10)];
    const data = chartDataOf(chartNamed("4-processes-waits"), { head, runs });
    expect(data?.reference).toBe("redlock-4");
    expect(data?.series.map(({ values }) => values[0])).toEqual([0.5, 1, 0.1667]);
    expect(data?.series[0]?.beside).toBe("32 served");
  });

  it("are counts where a chart compares with nothing; a library that said a word instead is left out", () => {
    const runs = [
      ...run("idle-waiters", "holdfast", { commandsPerSecond: 0.2 }),
      ...run("idle-waiters", "redlock-4", { commandsPerSecond: "not counted" }),
    ];
    const data = chartDataOf(chartNamed("idle-waiters"), { head, runs });
    expect(data?.series).toEqual([{ library: "holdfast", role: "ours", values: [0.2] }]);
    expect(data).not.toHaveProperty("reference");
    expect(data).not.toHaveProperty("loopMs");
  });

  it("say how many locks were lost in all rounds: who renews too late sends few commands", () => {
    const renewed = (commandsPerSecond: number, lost: number) => ({ commandsPerSecond, lost });
    const runs = run("renewing-5000", "redlock-5", renewed(400, 4_000), renewed(4_800, 12));
    const data = chartDataOf(chartNamed("renewing-commands"), { head, runs });
    expect(data?.series.map(({ beside }) => beside)).toEqual(["4,012 lost"]);
  });

  it("are none where nothing was measured, or not what the others are compared with", () => {
    const runs = run("hand-over", "holdfast", { p50Us: 900, handOvers: 10 });
    expect(chartDataOf(chartNamed("hand-over"), { head, runs })).toBeUndefined();
    expect(chartDataOf(chartNamed("memory"), { head, runs })).toBeUndefined();
  });
});

describe("a picture", () => {
  const data: ChartData = {
    chart: "idle-waiters",
    cores: 2,
    load: 0.3,
    node: "v20.19.0",
    servers: ["valkey-server 9.1.2"],
    versions: [],
    rounds: 3,
    series: [
      { library: "redlock-4", role: "peer", values: [1_000, 1_200, 4_000] },
      { library: "holdfast", role: "ours", values: [0, 0.2] },
      { library: "redlock-5", role: "peer", values: [800.1, 800.2, 800.3] },
    ],
  };

  it("says medians, ranges and numbers of rounds in words, the best on top", async () => {
    const [light] = themes;
    if (light === undefined) throw new Error("there is no theme");
    const texts = textsIn(await drawChart(chartNamed("idle-waiters"), data, light));
    const names = texts.filter((text) => /^(?:holdfast|redlock-.)$/.test(text));
    // The first is in the legend.
    expect(names).toEqual(["holdfast", "holdfast", "redlock-5", "redlock-4"]);
    expect(texts).toContain("1,200 (1,000–4,000)");
    expect(texts).toContain("0.10 (0–0.20), n = 2");
    // To these digits they are the same.
    expect(texts).toContain("800");
    expect(texts).toContain("commands/s");
    expect(texts).toContain("Diamond: median of 3 rounds. Dot: a round.");
    expect(texts).toContain("0 is drawn at the left end.");
    expect(texts).toContain("2 cores, which had a load of 0.3 when the run began,");
    expect(texts).toContain("Node 20.19.0, valkey-server 9.1.2");
  });

  it("has a dot for each round, in both themes", async () => {
    for (const theme of themes) {
      const svg = await drawChart(chartNamed("idle-waiters"), data, theme);
      expect(svg.match(/stroke-width="1.5"/g)).toHaveLength(8);
      expect(svg).toContain(`fill="${theme.background}"`);
      expect(svg).toContain(`fill="${theme.roles.ours}"`);
    }
  });
});

describe("results of a run", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "holdfast-charts-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function results(...lines: readonly object[]): string {
    const file = join(folder, "results.jsonl");
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    return file;
  }

  const idle = run("idle-waiters", "holdfast", { commandsPerSecond: 0.2 }, { commandsPerSecond: 0.4 });
  const failed = { scenario: "idle-waiters", library: "redlock-4", round: 0, failed: "Error: gone" };

  it("become data and pictures, which can be drawn again without them", async () => {
    const to = join(folder, "charts");
    expect(await recordCharts(results(head, ...idle, failed), to)).toEqual(["idle-waiters"]);
    const files = ["idle-waiters-dark.svg", "idle-waiters-light.svg", "idle-waiters.json"];
    expect(readdirSync(to).toSorted()).toEqual(files);
    const before = files.map((file) => readFileSync(join(to, file), "utf8"));
    for (const file of files) if (file.endsWith(".svg")) rmSync(join(to, file));
    expect(await drawRecorded(to)).toEqual(["idle-waiters"]);
    expect(files.map((file) => readFileSync(join(to, file), "utf8"))).toEqual(before);
  });

  it("are not published when they are quick, or of some libraries alone", async () => {
    const quick = results({ ...head, options: { ...options, quick: true } }, ...idle);
    await expect(publishCharts(quick, folder)).rejects.toThrow("its figures mean nothing");
    const some = results({ ...head, options: { ...options, libraries: ["holdfast"] } }, ...idle);
    await expect(publishCharts(some, folder)).rejects.toThrow(
      "a run of holdfast alone is not for publishing",
    );
    expect(readdirSync(folder)).toEqual(["results.jsonl"]);
    expect(await publishCharts(results(head, ...idle), folder)).toEqual(["idle-waiters"]);
  });

  it("are refused when they are of several runs, of none, or no JSON", async () => {
    await expect(recordCharts(results(head, ...idle, head), folder)).rejects.toThrow(
      "of one npm run bench, not of 2",
    );
    await expect(recordCharts(results(...idle), folder)).rejects.toThrow("of one npm run bench, not of 0");
    await expect(recordCharts(results({ options }), folder)).rejects.toThrow("on how many cores");
    const file = results(head);
    writeFileSync(file, "# Bench\n");
    await expect(recordCharts(file, folder)).rejects.toThrow(`line 1 of ${file} is no JSON`);
  });
});
