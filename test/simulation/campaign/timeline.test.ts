import { describe, expect, it } from "vitest";
import type { HistoryLine } from "../outcome.js";
import { timeline } from "./timeline.js";

const id = "5f0c9d1e-6f0a-4a57-9c1e-0f4be1b7a2d1";
const history: readonly HistoryLine[] = [
  { atUs: 0, column: "p0", text: 'p0.0: lock "n0" leaseMs 300' },
  { atUs: 1_312, column: "s0", text: "p0 lock-acquire n0 -> null" },
  { atUs: 1_312, column: "s0", text: `  300 ${id}:1 0 | {"n0":{"${id}:1":"1"}}` },
  { atUs: 1_522, column: "p0", text: 'believes p0.0 in lock "n0", for 298.7 ms' },
  { atUs: 1_800, column: "world", text: "cut of p0 for 300 ms" },
  { atUs: 900_800, column: "p10", text: 'believes p10.0 in lock "n0", for 30000 ms' },
  { atUs: 900_801, column: "p0", text: 'believes p0.0 in lock "n0" no more' },
  { atUs: 900_900, column: "p2", text: 'believes p2.0 in lock "n0", for 30000 ms' },
  {
    atUs: 900_900,
    column: "world",
    text: `VIOLATION (exclusion): "n0": ${"both ".repeat(30)}\n    at somewhere`,
  },
];

function rows(width: number): string[] {
  return timeline(history, { width, colors: false }).split("\n");
}

describe("the timeline", () => {
  it.each([80, 100, 160, 240, 400])("keeps within %d characters", (width) => {
    for (const row of rows(width)) expect(row.length, row).toBeLessThanOrEqual(width);
  });

  it("has a lane for each process and each server, in order, where there is no room for text in columns", () => {
    const [header, first, ...others] = rows(100);
    expect(header?.trim().split(/\s+/)).toEqual(["p0", "p2", "p10", "s0"]);
    expect(first).toBe('     0.000 ●   │   │   │    p0.0: lock "n0" leaseMs 300');
    expect(others[0]).toBe("     1.312 │   │   │   ◆    s0 p0 lock-acquire n0 -> null");
  });

  it("has text in columns where there is room", () => {
    const [header, first] = rows(240);
    expect(header).toMatch(/┬ p0 ─+┬ p2 ─+┬ p10 ─+┬ s0 ─+$/);
    expect(first).toMatch(/^ {5}0\.000 │ p0\.0: lock "n0" leaseMs 300 +│ +│ +│$/);
  });

  it("draws a thick line for as long as a process believes that it has something", () => {
    const lane = rows(100).map((row) => row[11]);
    const from = lane.indexOf("┃");
    const to = lane.lastIndexOf("┃");
    expect(rows(100)[from]).toContain("cut of p0");
    expect(rows(100)[to + 1]).toContain("no more");
  });

  it("counts the holds of a task that are called alike", () => {
    const believes = 'believes p0.0 in lock "n0"';
    const twice = [
      `${believes}, for 5 ms`,
      `${believes}, for 5 ms`,
      'gives back p0.0 in lock "n0"',
      "thinks",
      `${believes} no more`,
      "rests",
    ];
    const lines = twice.map((text, atUs) => ({ atUs, column: "p0", text }));
    const probes = lines.flatMap((line) => [line, { atUs: line.atUs, column: "s0", text: "probe" }]);
    const rows = timeline(probes, { width: 100, colors: false }).split("\n");
    expect(rows.filter((row) => row.includes("probe")).map((row) => row[11])).toEqual([..."┃┃┃┃││"]);
  });

  it("ends the lane of a process that is killed", () => {
    const killed = [
      ...history.slice(0, 5),
      { atUs: 1_900, column: "world", text: "kill of p0 for 0 ms" },
      ...history.slice(5),
    ];
    const lane = timeline(killed, { width: 100, colors: false })
      .split("\n")
      .map((row) => row[11]);
    const at = lane.lastIndexOf("┃");
    expect(lane[at + 1]).toBe(" ");
    expect(lane.slice(at + 2)).not.toContain("┃");
  });

  it("says what was believed when a promise was broken", () => {
    const at = rows(100).findIndex((row) => row.includes("VIOLATION"));
    const text = rows(100).slice(at).join("\n");
    expect(text).toContain('p10 believed p10.0 in lock "n0", since 900.800');
    expect(text).toContain('p2 believed p2.0 in lock "n0", since 900.900');
    expect(text).not.toContain("p0 believed");
    expect(text).not.toContain("at somewhere");
  });

  it("shortens long ids, and says which they were", () => {
    const text = rows(100).join("\n");
    expect(text).toContain('300 c1:1 0 | {"n0":{"c1:1":"1"}}');
    expect(text).toContain(`c1 = ${id}`);
  });

  it("tells of long silences", () => {
    expect(rows(100).join("\n")).toContain(
      "⋮ 899.000 ms in which nothing happens".replace("899.000 ms", "0.899 s"),
    );
  });
});
