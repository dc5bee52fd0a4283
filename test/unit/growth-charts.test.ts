import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { drawGrowth } from "../../scripts/charts/draw.mjs";
import { growthCharts } from "../../scripts/charts/growth-catalogue.mjs";
import { growthDataOf } from "../../scripts/charts/growth-data.mjs";
import { placeNames } from "../../scripts/charts/growth-lines.mjs";
import { NAME_WIDTH } from "../../scripts/charts/growth-specification.mjs";
import { themes } from "../../scripts/charts/themes.mjs";
import { root } from "../support/tidy/tree.js";

type Chart = (typeof growthCharts)[number];
type Data = NonNullable<ReturnType<typeof growthDataOf>>;

const published = join(root, "docs/internals/charts");
/** In DejaVu Sans, which is wider than other usual fonts. */
const NAME_LETTER = 8.6;

function chartNamed(name: string): Chart {
  const chart = growthCharts.find((one) => one.name === name);
  if (chart === undefined) throw new Error(`there is no chart ${name}`);
  return chart;
}

function recorded(name: string): Data {
  return JSON.parse(readFileSync(join(published, `${name}.json`), "utf8"));
}

const options = { quick: false, rounds: 2, forMs: 500 };
const head = { cores: 2, load: 0.3, node: "v20.19.0", versions: ["holdfast 0.1.0"], options };

function run(clients: number, library: string, ...toFew: readonly number[]) {
  return toFew.map((value) => ({
    scenario: `hot-lock-${clients}`,
    library,
    server: "redis-server 7.0.15",
    metrics: { toFew: value, commandsEach: "no acquisition in 2 s" },
  }));
}

describe.each(growthCharts.map(({ name }) => name))("the published chart %s", (name) => {
  it("is drawn from its recorded data alone, to the letter", async () => {
    for (const theme of themes) {
      const svg = readFileSync(join(published, `${name}-${theme.name}.svg`), "utf8");
      // The whole of two pictures says nothing in a report.
      expect((await drawGrowth(chartNamed(name), recorded(name), theme)) === svg).toBe(true);
    }
  });

  it("has room for each name, and a colour of its own for each line", async () => {
    const { series } = recorded(name);
    expect(series.length).toBeGreaterThan(1);
    for (const { library } of series) expect(library.length * NAME_LETTER).toBeLessThanOrEqual(NAME_WIDTH);
    for (const theme of themes) expect(theme.lines.length).toBeGreaterThanOrEqual(series.length - 1);
  });
});

describe("the data of a chart over fleets", () => {
  it("are those of all rounds for each size, of which some may lack", () => {
    const runs = [
      ...run(8, "holdfast", 1, 1.1),
      ...run(400, "holdfast", 0.9, 0.98765),
      ...run(8, "node-redisson", 1),
      ...run(32, "node-redisson", 0.1),
    ];
    const data = growthDataOf(chartNamed("hot-lock-speed"), { head, runs });
    expect(data).toMatchObject({ clients: [8, 32, 128, 400], rounds: 2, loopMs: 500, cores: 2 });
    expect(data?.series).toEqual([
      { library: "holdfast", role: "ours", values: [[1, 1.1], [], [], [0.9, 0.9877]] },
      { library: "node-redisson", role: "peer", values: [[1], [0.1], [], []] },
    ]);
  });

  it("leave out a library with one size, and words in place of figures", () => {
    const runs = [...run(8, "holdfast", 1), ...run(8, "node-redisson", 1), ...run(32, "node-redisson", 1)];
    const data = growthDataOf(chartNamed("hot-lock-speed"), { head, runs });
    expect(data?.series.map(({ library }) => library)).toEqual(["node-redisson"]);
    expect(growthDataOf(chartNamed("hot-lock-commands"), { head, runs })).toBeUndefined();
  });
});

describe("a picture over fleets", () => {
  const data: Data = {
    chart: "hot-lock-speed",
    cores: 2,
    load: 0.3,
    node: "v20.19.0",
    servers: ["redis-server 7.0.15"],
    versions: [],
    rounds: 2,
    loopMs: 500,
    clients: [8, 32],
    series: [
      { library: "holdfast", role: "ours", values: [[1, 1], [0.9]] },
      { library: "redlock-5", role: "peer", values: [[1], [0.2, 0.4]] },
    ],
  };

  it.each(themes)("has a point for each size, and a name for each line ($name)", async (theme) => {
    const svg = await drawGrowth(chartNamed("hot-lock-speed"), data, theme);
    for (const { library } of data.series) expect(svg).toContain(`>${library}</text>`);
    for (const size of data.clients) expect(svg).toContain(`>${size}</text>`);
    expect(svg).toContain("Both axes are logarithmic.");
    expect(svg).toContain("2 cores, which had a load of 0.3 when the run began,");
    expect(svg.match(/stroke-width="2.5"/g)).toHaveLength(2);
    expect(svg.match(new RegExp(`stroke="${theme.background}"`, "g"))).toHaveLength(4);
  });

  it("keeps names apart, and inside the plot, where lines end together", () => {
    const lines = [99, 100, 100, 3].map((median, i) => ({
      library: `${i}`,
      role: "peer" as const,
      color: "#000000",
      points: [{ library: `${i}`, color: "#000000", shape: "circle", clients: 8, median, least: 0, most: 0 }],
    }));
    const names = placeNames(lines, (value) => value, 100);
    expect(names.map(({ library, y }) => [library, y])).toEqual([
      ["3", 3],
      ["0", 62],
      ["1", 81],
      ["2", 100],
    ]);
  });
});
