import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { decidingFiles } from "../mutants/mutants.js";
import { root } from "../variant.js";
import { testsAbout } from "./suite.js";

const all = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" }).map(
  (file) => `test/${file}`,
);
const chosen = (file: string) =>
  all.filter((test) => test.endsWith(".test.ts") && testsAbout(file).some((start) => test.startsWith(start)));

describe("the tests of the suite that a mutant is handed to", () => {
  it.each(decidingFiles())("are there for %s", (file) => {
    for (const start of testsAbout(file))
      expect(
        all.some((test) => test.startsWith(start)),
        start,
      ).toBe(true);
    expect(chosen(file).length).toBeGreaterThan(5);
  });

  it("are those about permits for what is about permits", () => {
    expect(chosen("src/threads/permit-holds.ts")).toContain("test/synchronizers/permit-leases.test.ts");
    expect(chosen("src/locks/retake.ts")).toContain("test/kinds/red-lock-retake.test.ts");
  });
});
