import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { markdownTables } from "../support/markdown-tables.js";
import { read, root } from "../support/tidy/tree.js";

/** Bugs of other libraries, defects of Redisson's protocol, and findings of the design review. */
const IDS = [
  "B1 B4 B5 B6 B7 B8 B14 B15 B19 B20 B21 B22 B23 B24 B36 B37 B38 B40 B43 B44",
  "wire-S1 wire-S2 wire-S3 wire-S4 wire-S5 wire-S15 wire-S22 wire-S23 wire-S24",
  "wire-L9 wire-L10 wire-L20 wire-L22 wire-A1 wire-A2 wire-A3 wire-A5 wire-A8 wire-A12",
  "R1 R2 R3 R7 R8 R9 R11 R12 R13 R17 R18 R27 R28 R29 R30 R31 R32 R33 R35",
].flatMap((line) => line.split(" "));

const PAGE = "docs/internals/track-record.md";
const [table] = markdownTables(readFileSync(join(root, PAGE), "utf8"));
const rows = table?.rows ?? [];

interface Evidence {
  readonly file: string;
  readonly title: string;
}

/** The tests that a row names, one below the other: `file` › title. */
function evidenceOf(cell: string): (Evidence | undefined)[] {
  return cell.split("<br>").map((line) => {
    const [, file, title] = /^`([^`]+)` › (.+)$/.exec(line.trim()) ?? [];
    return file === undefined || title === undefined ? undefined : { file, title };
  });
}

const CANNOT = /^Cannot happen here: .{20,}/;

describe(PAGE, () => {
  test("has a row for each id, in order, and no other", () => {
    expect(table?.columns).toEqual([
      "Id",
      "What went wrong elsewhere",
      "How it is excluded here",
      "Test, or why it cannot happen here",
    ]);
    expect(rows.map(([id]) => id)).toEqual(IDS);
  });

  test.each(rows.map((row) => [row[0] ?? "", row] as const))("%s is told and proved", (id, row) => {
    const [, wrong = "", excluded = "", proof = ""] = row;
    expect(row).toHaveLength(4);
    expect([wrong.length, excluded.length].every((length) => length > 20)).toBe(true);
    if (CANNOT.test(proof)) return;
    for (const evidence of evidenceOf(proof)) {
      if (evidence === undefined) throw new Error(`neither a test nor a reason: ${proof}`);
      expect(evidence.title).toContain(`[${id}]`);
      // As in the source, with placeholders and escapes.
      const found = read(evidence.file).includes(evidence.title);
      expect({ ...evidence, found }).toEqual({ ...evidence, found: true });
    }
  });
});
