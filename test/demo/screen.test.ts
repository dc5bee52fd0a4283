import { describe, expect, it } from "vitest";
import { allScenes } from "../../demo/scenes/all-scenes.js";
import { mostAtOnce } from "../../demo/terminal/chart.js";
import { Screen } from "../../demo/terminal/screen.js";
import { visibleLength } from "../../demo/terminal/wrap.js";

function screenOf({ columns, colours }: { columns: number; colours: boolean }) {
  let text = "";
  const write = (part: string) => (text += part);
  const screen = new Screen({ write, columns, isTTY: true, hasColors: () => colours });
  return { screen, lines: () => text.split("\n").slice(0, -1) };
}

describe("screen of the demo", () => {
  it.each([30, 42, 80])("keeps prose within %i columns, in colour too", (columns) => {
    const { screen, lines } = screenOf({ columns, colours: true });
    for (const { title, intro } of allScenes) {
      screen.heading(title);
      screen.prose(intro);
      screen.line(`  ${screen.paint("red", "word ".repeat(40))}`);
    }
    expect(Math.max(...lines().map(visibleLength))).toBeLessThanOrEqual(columns);
  });

  it("shows the code of all scenes unbroken in 80 columns", () => {
    const { screen, lines } = screenOf({ columns: 80, colours: false });
    for (const { code } of allScenes) screen.code(code);
    expect(lines().map((line) => line.replace("  │ ", ""))).toEqual(
      allScenes.flatMap(({ code }) => code.split("\n")),
    );
  });

  it("paints where the terminal has colours, and only there", () => {
    expect(screenOf({ columns: 80, colours: true }).screen.paint("red", "a")).toBe("\u001b[31ma\u001b[39m");
    expect(screenOf({ columns: 80, colours: false }).screen.paint("red", "a")).toBe("a");
    const pipe = new Screen({ write: () => undefined, hasColors: () => true });
    expect(pipe.paint("red", "a")).toBe("a");
  });

  it("breaks the longest line without losing a word or the spaces of what fits", () => {
    const { screen, lines } = screenOf({ columns: 30, colours: false });
    screen.line("  A  waits   for a lock that is held", "     ");
    expect(lines()).toEqual(["  A  waits   for a lock that", "     is held"]);
  });

  it("counts how many stays overlap, and none that only touch", () => {
    const stay = (fromMs: number, toMs: number) => ({ fromMs, toMs });
    expect(mostAtOnce([])).toBe(0);
    expect(mostAtOnce([stay(0, 10), stay(10, 20), stay(20, 30)])).toBe(1);
    expect(mostAtOnce([stay(0, 10), stay(9, 20), stay(9.5, 30)])).toBe(3);
  });
});
