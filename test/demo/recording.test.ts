import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Screen } from "../../demo/terminal/screen.js";
import { drawRecording } from "../../scripts/recording/svg.mjs";
import { root } from "../support/tidy/tree.js";

const published = readFileSync(join(root, "docs/pictures/demo.svg"), "utf8");
const line = (atMs: number, text: string) => ({ atMs, text });

/** What each line says, and in which colours. */
function linesIn(svg: string): string[] {
  return [...svg.matchAll(/<text y="(\d+)"[^>]*>(.*?)<\/text>/g)].map(([, y, inside]) => `${y}: ${inside}`);
}

/** How far up the lines are moved, by the percentage of the time. */
function movementIn(svg: string): Record<string, number> {
  const [, frames = ""] = /@keyframes p\{(.*)\}<\/style>/.exec(svg) ?? [];
  return Object.fromEntries(
    [...frames.matchAll(/([\d.]+)%\{transform:translateY\((-?\d+)px\)\}/g)].map(([, at, y]) => [
      at,
      Number(y),
    ]),
  );
}

describe("recording of the demo", () => {
  it("draws what a screen has painted, letter for letter", () => {
    const written: string[] = [];
    const output = {
      isTTY: true,
      columns: 80,
      hasColors: () => true,
      write: (text: string) => written.push(text),
    };
    const screen = new Screen(output);
    screen.line(`  ${screen.paint("red", "a < b")} & ${screen.paint(["bold", "cyan"], "c")}`);
    screen.line();
    screen.verdict(true, "so it is");
    const svg = drawRecording(
      written.map((text) => line(0, text.trimEnd())),
      "A title",
    );
    expect(linesIn(svg)).toEqual([
      '13:   <tspan class="r">a &#60; b</tspan> &#38; <tspan class="b c">c</tspan>',
      '49:   <tspan class="b g">✓</tspan> so it is',
    ]);
  });

  it("moves each line in at its time, from the bottom", () => {
    const svg = drawRecording(
      [line(0, "a"), line(1_000, "b"), line(1_000, "c"), line(6_000, "d")],
      "A title",
    );
    const movement = movementIn(svg);
    expect(
      Object.keys(movement)
        .map(Number)
        .sort((a, b) => a - b),
    ).toEqual([0, 10, 60, 100]);
    const at = (percent: string) => Number(movement["0.00"]) - Number(movement[percent]);
    // Two lines come together after a tenth of the ten seconds.
    expect([at("10.00"), at("60.00"), at("100")]).toEqual([36, 54, 54]);
  });

  it("refuses a code that it would show as text", () => {
    expect(() => drawRecording([line(0, "\u001b[4munderlined\u001b[24m")], "A title")).toThrow(
      "not known: 4",
    );
  });

  it("is published with a kill, a stop and no check that failed, and is small", () => {
    for (const seen of ["kill -9", "SIGKILL", "kill -STOP", "kill -CONT", "ERR_HOLDFAST_LEASE_LOST"])
      expect(published).toContain(seen);
    expect(published).not.toContain("✗");
    expect(published).toContain("prefers-reduced-motion");
    expect(published.length).toBeLessThan(150_000);
  });
});
