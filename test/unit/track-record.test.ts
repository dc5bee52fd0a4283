import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { markdownTables } from "../support/models/markdown-tables.js";
import { read, root } from "../support/tidy/tree.js";

/** Bugs of other libraries, defects of Redisson's protocol, findings of the design review, and our own defects. */
const IDS = [
  "B1 B2 B3 B4 B5 B6 B7 B8 B9 B10 B11 B12 B13 B14 B15 B16 B17 B18 B19 B20 B21 B22 B23 B24 B25 B26 B27 B28 B29",
  "B30 B31 B32 B33 B34 B36 B37 B38 B39 B40 B42 B43 B44",
  "wire-S1 wire-S2 wire-S3 wire-S4 wire-S5 wire-S6 wire-S7 wire-S8 wire-S9 wire-S10 wire-S11 wire-S12 wire-S13",
  "wire-S14 wire-S15 wire-S16 wire-S17 wire-S21 wire-S22 wire-S23 wire-S24 wire-S25 wire-S26",
  "wire-L1 wire-L2 wire-L3 wire-L4 wire-L5 wire-L6 wire-L7 wire-L8 wire-L9 wire-L10 wire-L11",
  "wire-L12 wire-L13 wire-L14 wire-L15 wire-L16 wire-L17 wire-L18 wire-L19 wire-L20 wire-L21 wire-L22 wire-L23",
  "wire-A1 wire-A2 wire-A3 wire-A4 wire-A5 wire-A6 wire-A7 wire-A8 wire-A9 wire-A10 wire-A12 wire-A13 wire-A14",
  "R1 R2 R3 R4 R5 R6 R7 R8 R9 R10 R11 R12 R13 R14 R15 R16 R17 R18 R19 R20 R21 R22 R23 R24 R25 R26 R27 R28",
  "R29 R30 R31 R32 R33 R34 R35 R36 R37 R38",
  "own-1 own-2 own-3 own-4 own-5 own-6 own-7 own-8 own-9 own-10 own-11 own-12 own-13 own-14 own-15 own-16 own-17 own-18 own-19 own-20 own-21 own-22 own-23 own-24 own-25 own-26 own-27 own-28 own-29 own-30",
  "own-31 own-32 own-33 own-34 own-35 own-36 own-37 own-38 own-39 own-40 own-41 own-42 own-43 own-44 own-45 own-46 own-47 own-48 own-49 own-50 own-51 own-52 own-53 own-54 own-55 own-56 own-57 own-58 own-59 own-60",
  "own-61 own-62 own-63 own-64 own-65 own-66 own-67 own-68 own-69 own-70 own-71 own-72 own-73 own-74 own-75 own-76 own-77 own-78 own-79 own-80 own-81 own-82 own-85 own-86 own-87 own-88 own-90 own-91 own-92 own-93",
  "own-94 own-95 own-97 own-98 own-99 own-100 own-103 own-107 own-108 own-109 own-110 own-111 own-112 own-113 own-114 own-115 own-116 own-117 own-118 own-119 own-120 own-121 own-122 own-123 own-124 own-125 own-126",
  "P1 P1-1 P1-2 P1-3 P2 P2-1 P2-2 P2-3 P3-1 P3-2 P5 P6 P7 P11 P11-1 P12 P13 P14 D2",
  "U1 U2 U3 U4 U5 U6 U7 U8 U9 U10 U11 U12",
  "X1 X2 X3 X4 X5 X6 X7 X8",
  "I1 I2 I3 I4 I5 I6 I7 I8 I9",
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
      "What went wrong",
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
