import { describe, expect, it } from "vitest";
import type { Finding } from "./finding.js";
import { foundText, markdownTable, summary } from "./table.js";

const found: Finding = { how: "violation", rule: "exclusion", text: "two", schedules: 12, seconds: 1.26 };
const missed: Finding = { how: "not found", rule: "", text: "", schedules: 9_000, seconds: 60 };

describe("the table of what was hunted for", () => {
  it("says after how many schedules, in what time, and by which rule", () => {
    expect(foundText(found)).toBe("found after 12 schedules in 1.3 s (exclusion)");
    expect(foundText({ ...found, how: "hang", schedules: 1 })).toBe("found after 1 schedule in 1.3 s (hang)");
    expect(foundText(missed)).toBe("not found in 9000 schedules, 60 s");
  });

  it("counts a crash and a hang as found, and what could not be built as missed", () => {
    const finding = (how: Finding["how"]) => ({ name: how, promise: "", finding: { ...found, how } });
    const rows = (["violation", "crash", "hang", "not found", "not built"] as const).map(finding);
    expect(summary(rows)).toBe("3 of 5 found");
  });

  it("puts what is missed in italics", () => {
    const table = markdownTable([
      { name: "one", promise: "It holds.", finding: found },
      { name: "other", promise: "It ends.", finding: missed },
    ]);
    expect(table.split("\n").slice(2)).toEqual([
      "| `one` | It holds. | found after 12 schedules in 1.3 s (exclusion) |",
      "| `other` | It ends. | *not found in 9000 schedules, 60 s* |",
      "",
    ]);
  });
});
