import { describe, expect, it } from "vitest";
import { encoded } from "../../../page/src/text/encoded.js";
import { nameFilter, patternOf } from "../../../page/src/text/glob.js";
import { clientFields, linkOf } from "../../../page/src/text/link.js";
import { LONGEST_SHOWN, shown } from "../../../page/src/text/shown.js";
import { en } from "../../../page/src/words/en.js";
import { durationText, waitText } from "../../../page/src/words/words.js";
import { zh } from "../../../page/src/words/zh.js";

describe("a text of a stranger", () => {
  it.each([
    ["order:42", "order:42"],
    ["<b>&amp;", "<b>&amp;"],
    ["名称 שלום", "名称 שלום"],
    ["a\u202egnp", "a\\u{202e}gnp"],
    ["a\u0000\u001b[31m\n", "a\\u{0}\\u{1b}[31m\\u{a}"],
    ["a\u200b\u00ad\ufeff\u2066", "a\\u{200b}\\u{ad}\\u{feff}\\u{2066}"],
    ["\ud800x", "\\u{d800}x"],
    ["\u2028\u{e0041}", "\\u{2028}\\u{e0041}"],
  ])("%j is shown as %j", (text, wanted) => {
    expect(shown(text)).toBe(wanted);
  });

  it("is cut at 200 characters, between characters", () => {
    expect(shown("👍".repeat(LONGEST_SHOWN))).toBe("👍".repeat(LONGEST_SHOWN));
    expect(shown("👍".repeat(LONGEST_SHOWN + 1))).toBe(`${"👍".repeat(LONGEST_SHOWN)}…`);
    expect(shown("k".repeat(1_000_000))).toBe(`${"k".repeat(LONGEST_SHOWN)}…`);
  });

  it("is part of a URL even where half a character is in it", () => {
    expect(encoded("a b\ud800&")).toBe("a%20b%EF%BF%BD%26");
  });
});

describe("a link", () => {
  const client = {
    id: "1",
    app: "api",
    host: null,
    pid: 7,
    labels: { pod: "a&b=/../#", evil: "javascript:alert(1)" },
  };
  const fields = clientFields(client);

  it.each([
    ["https://g.example/d?pod={labels.pod}", "https://g.example/d?pod=a%26b%3D%2F..%2F%23"],
    ["https://g.example/{app}/{pid}", "https://g.example/api/7"],
    ["{labels.evil}", undefined],
    ["javascript:{app}", undefined],
    ["data:text/html,{app}", undefined],
    ["//g.example/{app}", undefined],
    ["https://g.example/{host}", undefined],
    ["https://g.example/{toString}", undefined],
    ["https://g.example/{__proto__}", undefined],
    [null, undefined],
  ])("%j leads to %j", (template, wanted) => {
    expect(linkOf(template, fields)).toBe(wanted);
  });
});

describe("a filter", () => {
  it.each([
    ["", "anything", true],
    ["der:4", "order:42", true],
    ["order:*", "order:42", true],
    ["order:*", "an order:42", false],
    ["order:?2", "order:42", true],
    ["order:?", "order:42", false],
    ["*[1-4]2", "order:42", true],
    ["*[^4]2", "order:42", false],
    ["a\\*", "a*", true],
    ["a\\*", "ab", false],
    ["*a*a*b", "aaaaac", false],
    ["*", "", true],
    ["[", "[", false],
  ])("%j and %j: %j", (typed, name, wanted) => {
    expect(nameFilter(typed)(name)).toBe(wanted);
  });

  it("takes a time that grows with both lengths and no faster", () => {
    expect(nameFilter(`${"*a".repeat(100)}b`)("a".repeat(4_000))).toBe(false);
  });

  it("is a glob for the server", () => {
    expect(patternOf("order")).toBe("*order*");
    expect(patternOf("order:*")).toBe("order:*");
  });
});

describe("words", () => {
  it("are the same in both languages, and take the same", () => {
    expect(shapeOf(zh)).toEqual(shapeOf(en));
  });

  it("are written, each", () => {
    expect(Object.values(zh).filter((word) => word === "")).toEqual([]);
  });

  it.each([
    [0, "0 s"],
    [41_900, "41 s"],
    [200_000, "3 min 20 s"],
    [8_040_000, "2 h 14 min"],
    [3 * 86_400_000 + 4 * 3_600_000, "3 d 4 h"],
    [-5, "0 s"],
  ])("%d ms are %j", (ms, text) => {
    expect(durationText(en, ms)).toBe(text);
  });

  it("tell short waits in milliseconds", () => {
    expect([0, 120.4, 1_000].map((ms) => waitText(en, ms))).toEqual(["0 s", "120 ms", "1 s"]);
  });
});

function shapeOf(words: object): unknown {
  return Object.fromEntries(
    Object.entries(words).map(([key, word]) => [
      key,
      typeof word === "object" ? shapeOf(word) : typeof word === "function" ? "function" : "text",
    ]),
  );
}
