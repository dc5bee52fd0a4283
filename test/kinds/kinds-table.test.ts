import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { kindsPage } from "../support/models/kinds-table.js";
import { root } from "../support/tidy/tree.js";
import { chapters, kinds } from "./kinds.js";

const PAGE = "docs/reference/kinds.md";

test(`${PAGE} is what the tests say; npm run table writes it anew`, () => {
  const file = join(root, PAGE);
  if (process.env["HOLDFAST_WRITE_TABLE"] === "1") writeFileSync(file, kindsPage());
  expect(readFileSync(file, "utf8")).toBe(kindsPage());
});

test("no kind declares a lack that no behaviour would notice", () => {
  const needed = new Set(chapters.flatMap(({ behaviours }) => behaviours.map(({ needs }) => needs)));
  const idle = kinds.flatMap(({ name, lacks }) =>
    Object.keys(lacks)
      .filter((lack) => ![...needed].some((need) => need === lack))
      .map((lack) => `${name} lacks ${lack}`),
  );
  expect(idle).toEqual([]);
});
