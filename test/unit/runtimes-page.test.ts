import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { runtimeCases } from "../../scripts/runtimes-cases.mjs";
import { page, type RuntimesRecord, recordFile, runtimesPage } from "../../scripts/runtimes-page.mjs";
import { read } from "../support/tidy/tree.js";

const record = JSON.parse(readFileSync(recordFile, "utf8")) as RuntimesRecord;
const { devDependencies } = JSON.parse(read("runtimes/package.json")) as {
  readonly devDependencies: Readonly<Record<string, string>>;
};
const namesIn = (group: string) => record.rows.filter((row) => row.group === group).map(({ name }) => name);

describe("the page of runtimes", () => {
  it("is what the last recorded run gave; npm run test:runtimes -- --write writes it anew", () => {
    expect(readFileSync(page, "utf8")).toBe(runtimesPage(record));
  });

  it("has a row for each case that is tried", () => {
    // Where the packages are not installed, their versions are not known.
    const withoutVersion = (name: string) => name.replace(/ (?:\?|\d+\.\d+\.\d+)/, "");
    const tried = runtimeCases().map(({ group, name, what }) => [group, withoutVersion(name), what]);
    expect(record.rows.map(({ group, name, what }) => [group, withoutVersion(name), what])).toEqual(tried);
  });

  it("has the versions that runtimes/package.json names", () => {
    const versions = Object.entries(devDependencies)
      .filter(([name]) => !name.startsWith("@rollup/"))
      .map(([, version]) => version.replace(/^npm:.*@/, ""));
    const told = record.rows.map(({ name }) => name).join("\n");
    expect(versions.filter((version) => !told.includes(` ${version}`))).toEqual([]);
  });

  it("has what SUPPORT.md promises", () => {
    const support = read("SUPPORT.md");
    const [, lowest = "?"] = /^\| TypeScript \| ([\d.]+) or later/m.exec(support) ?? [];
    expect(namesIn("TypeScript")[0]).toContain(` ${lowest}.`);
    const releases = [...support.matchAll(/^\| (\d[\d.]*) \| (?:supported|runs) /gm)].map(
      ([, release]) => release,
    );
    expect(new Set(namesIn("Node.js"))).toEqual(new Set(releases.map((release) => `Node.js ${release}`)));
  });
});
