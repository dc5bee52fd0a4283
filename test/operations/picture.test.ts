import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { themes } from "../../scripts/charts/themes.mjs";
import { drawDashboard } from "../../scripts/dashboard/draw.mjs";
import { read, root } from "../support/tidy/tree.js";

interface Titled {
  readonly title: string;
}

const recording = JSON.parse(read("docs/pictures/dashboard.json"));
const dashboard = JSON.parse(read("docs/operations/grafana.json"));
const titlesOf = (panels: readonly Titled[]) => panels.map(({ title }) => title);

describe("the picture of the dashboard", () => {
  test.each(themes)("is drawn from what was recorded alone, to the letter: $name", async (theme) => {
    const svg = readFileSync(join(root, `docs/pictures/dashboard-${theme.name}.svg`), "utf8");
    // The whole of two pictures says nothing in a report.
    expect((await drawDashboard(recording, theme)) === svg).toBe(true);
  });

  test("shows each panel of the dashboard, but for those of commands, which are off by default", () => {
    const titles = titlesOf(dashboard.panels);
    const left = titles.findIndex((title) => title.startsWith("Commands"));
    expect(titlesOf(recording.panels)).toEqual(titles.slice(0, left));
  });

  test("shows an incident of each alert that the example plays", () => {
    const played = [...read("examples/prometheus/incidents.mjs").matchAll(/alert: "(\w+)"/g)];
    const fired = recording.alerts.map(({ name }: { readonly name: string }) => name);
    expect(fired).toEqual(expect.arrayContaining(played.map(([, name]) => name)));
  });
});
