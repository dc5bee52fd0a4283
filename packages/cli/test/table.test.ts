import { describe, expect, test } from "vitest";
import { Output } from "../src/output.js";
import { cut, cutMiddle, plain, widthOf, wrapped } from "../src/text/plain.js";
import { type Column, tableLines } from "../src/text/table.js";

interface Row {
  readonly name: string;
  readonly by: string;
}

const columns: readonly Column<Row>[] = [
  { head: "NAME", text: ({ name }) => name, cuts: "middle", style: () => "bold" },
  { head: "KIND", text: () => "lock", leftOut: 1 },
  { head: "BY", text: ({ by }) => `${by} pid 7`, shorter: [({ by }) => by], cuts: "end" },
  { head: "FLAGS", text: () => "" },
];

function output(terminal?: number, env: NodeJS.ProcessEnv = {}): Output {
  const stream = { write: () => true, ...(terminal === undefined ? {} : { isTTY: true, columns: terminal }) };
  return new Output({ out: stream, err: stream, env });
}

const long = {
  name: "order:with-a-long-name:tenant-0007:item-99812",
  by: "an-application@some-host-in-eu-west-1",
};
const short = { name: "発注:7", by: "api@web-7" };

describe("a table", () => {
  test("puts columns below each other, whatever is wide in them", () => {
    const lines = tableLines(output(), columns, [short, { name: "a", by: "🔒" }]);
    expect(lines).toEqual([
      "NAME    KIND  BY               FLAGS",
      "発注:7  lock  api@web-7 pid 7",
      "a       lock  🔒 pid 7",
    ]);
  });

  test.each([140, 80, 60, 40, 30])("is nowhere wider than a terminal of %i columns", (width) => {
    const plainly = output(width, { NO_COLOR: "1" });
    const lines = tableLines(plainly, columns, [short, long]);
    expect(lines.filter((line) => widthOf(line) > width)).toEqual([]);
    expect(lines).toHaveLength(3);
  });

  test("cuts long names in their middle, and says less before anything else is cut", () => {
    const at = (width: number) =>
      tableLines(output(width, { NO_COLOR: "1" }), columns, [short, long]).slice(1);
    const [, wide = ""] = at(70);
    expect(wide).toMatch(/^order:with-a…7:item-99812 {2}lock {2}an-application@some-host-in-eu-west-1$/);
    const [, narrow = ""] = at(44);
    expect(narrow).toContain("…");
    expect(narrow).not.toContain("lock");
    expect(narrow).not.toContain("pid");
  });

  test("leaves out a column that says nothing before any other says less", () => {
    const [head = ""] = tableLines(output(34), columns, [short]);
    expect(head).not.toContain("FLAGS");
    expect(head).toContain("KIND");
  });

  test("says least, before it cuts that as well", () => {
    const by: Column<Row> = {
      head: "BY",
      text: () => "jobs@pod-9 pid 1 (gone 40 s)",
      shorter: [() => "jobs@pod-9 1 (gone)", () => "jobs@pod-9"],
      cuts: "end",
    };
    const at = (width: number) => tableLines(output(width, { NO_COLOR: "1" }), [by], [short])[1];
    expect([28, 27, 19, 18, 10, 9].map(at)).toEqual([
      "jobs@pod-9 pid 1 (gone 40 s)",
      "jobs@pod-9 1 (gone)",
      "jobs@pod-9 1 (gone)",
      "jobs@pod-9",
      "jobs@pod-9",
      "jobs@pod…",
    ]);
  });

  test("cuts nothing where stdout is no terminal", () => {
    const [, line = ""] = tableLines(output(), columns, [long]);
    expect(line).toContain(long.name);
    expect(line).toContain(`${long.by} pid 7`);
  });

  test.each([
    ["a terminal", output(80), true],
    ["no terminal", output(), false],
    ["NO_COLOR", output(80, { NO_COLOR: "1" }), false],
    ["TERM=dumb", output(80, { TERM: "dumb" }), false],
  ])("has colours with %s: %s", (_, to, isColoured) => {
    expect(tableLines(to, columns, [short]).join("").includes("\u001b[")).toBe(isColoured);
  });

  test("shows what could move the cursor or turn the direction as escapes", () => {
    const name = "a\u001b[2Jb\nc\u202ed\u200be\u0000";
    const [, line = ""] = tableLines(output(), columns, [{ name, by: "x" }]);
    expect(line).toContain("a\\u{1b}[2Jb\\u{a}c\\u{202e}d\\u{200b}e\\u{0}");
  });
});

describe("texts", () => {
  test.each([
    ["order:42", 8],
    ["東京", 4],
    ["🔒a", 3],
    ["e\u0301", 1],
    ["\u001b[1mbold\u001b[22m", 4],
  ])("%j takes %i columns", (text, columns_) => {
    expect(widthOf(text)).toBe(columns_);
  });

  test("are cut between characters, never within one", () => {
    expect([
      cut("東京発注", 6),
      cutMiddle("東京発注書類", 8),
      cutMiddle("abcdef", 5),
      cutMiddle("abc", 3),
    ]).toEqual(["東京…", expect.stringMatching(/^東京?….*類$/), "ab…ef", "abc"]);
    for (const width of [0, 1, 2, 3, 7])
      expect(widthOf(cutMiddle("東京発注書類", width))).toBeLessThanOrEqual(width);
  });

  test("are escaped wherever something hides in them", () => {
    const hiding = [
      "\u0007",
      "\u009b",
      "\u00ad",
      "\u061c",
      "\u200d",
      "\u2066",
      "\u2028",
      "\ufeff",
      "\u{e0041}",
      "\ud800",
    ];
    expect(hiding.map(plain).filter((text) => !text.startsWith("\\u{"))).toEqual([]);
    expect(plain("Größe 東京 🔒 é")).toBe("Größe 東京 🔒 é");
  });

  test("are broken between words", () => {
    expect(wrapped("one two three-and-more four", 8)).toEqual(["one two", "three-and-more", "four"]);
  });
});
