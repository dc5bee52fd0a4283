import { describe, expect, it } from "vitest";
import { changedHeadings, mistakesIn, originalOf, translations } from "../../scripts/translations.mjs";
import { read } from "../support/tidy/tree.js";

const README = "docs/zh/README.md";
const leases = "docs/zh/guide/leases.md";

describe.each(translations)("%s", (page) => {
  it(`has the headings, code, links, numbers, tables and lists of ${originalOf(page)}`, () => {
    expect(mistakesIn(page)).toEqual([]);
  });

  it(`translates the headings that ${originalOf(page)} has now`, () => {
    const next = "translate it in docs/zh, then run node scripts/translations.mjs --write";
    expect(changedHeadings(page), next).toEqual([]);
  });
});

describe("a translation", () => {
  const both = { translated: read(leases), original: read(originalOf(leases)) };

  /** The mistakes after one place of one of the two pages was changed. */
  function found(which: keyof typeof both, from: string, to: string): readonly string[] {
    expect(both[which]).toContain(from);
    const texts = { ...both, [which]: both[which].replace(from, to) };
    return mistakesIn(leases, texts.translated, texts.original);
  }

  it.each([
    ["original", "## In a log", "## Printed\n\nMore.\n\n## In a log", '"Forgotten leases"'],
    ["original", "## In a log", "### In a log", '"In a log"'],
    ["translated", "## 日志中的样子\n", "", '"Forgotten leases"'],
    ["translated", "## 被遗忘的租约", "## 新的一节\n\n## 被遗忘的租约", '"被遗忘的租约" is not in'],
    ["translated", "block(60_000);", "block(6_000);", 'block of code 2 in "Is it still mine?"'],
    ["original", "// stops when the lock is lost", "// stops", 'block of code 1 in "Is it still mine?"'],
    ["translated", "（30 秒）", "（3 秒）", "the number 3 is not in"],
    ["original", "(30 seconds)", "(20 seconds)", "the number 20 in"],
    [
      "translated",
      "](../../guide/fencing.md)",
      "](../../guide/recipes.md)",
      "the link to docs/guide/recipes.md",
    ],
    [
      "translated",
      "first-steps.md#退出",
      "first-steps.md#加锁",
      "the link to docs/guide/first-steps.md#A lock",
    ],
    [
      "translated",
      "](first-steps.md#退出)",
      "](../../guide/first-steps.md#the-end)",
      "the link to docs/guide/first-steps.md#The end in English",
    ],
    ["translated", "`maxHoldMs`", "`maxHold`", "`maxHold` is not in"],
    ["original", "maxHoldMs`. Use this", "maxHoldMillis`. Use this", "`maxHoldMs` is not in"],
    ["translated", "- 红锁把", "红锁把", "tables and lists"],
    ["original", "| `max-hold` | `maxHoldMs` ran out |\n", "", "tables and lists"],
    ["translated", "[English](../../guide/leases.md)", "", "it has no link to ../../guide/leases.md"],
  ] as const)("is refused when the %s page has %j changed to %j", (which, from, to, complaint) => {
    expect(found(which, from, to).join("\n")).toContain(complaint);
  });

  it("may change its words, and so may the English page", () => {
    expect(found("translated", "每条命令一百把", "每条命令处理一百把")).toEqual([]);
    expect(found("original", "Use this for work of unknown length.", "For work of unknown length.")).toEqual(
      [],
    );
  });

  it("is checked against the recorded headings: each new, renamed or missing heading is named", () => {
    const noted = Object.fromEntries(
      [...read(originalOf(README)).matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) => [title, "digest"]),
    );
    expect(changedHeadings(README, noted)).toEqual([]);
    expect(changedHeadings("docs/zh/glossary.md")).toEqual([
      "the headings of docs/glossary.md are not recorded",
    ]);
    const { Install: digest, ...others } = noted;
    expect(changedHeadings(README, { ...others, Setup: digest ?? "" })).toEqual([
      '"Install" of README.md is new or renamed since it was translated',
      '"Setup" was translated, and README.md no longer has it',
    ]);
  });
});
