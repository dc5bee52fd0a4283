import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../support/tidy/tree.js";

function help(flag: string): string {
  // Whatever is built or installed would say so, and take its time.
  const env = { ...process.env, HOLDFAST_NO_INSTALL: "1", PATH: "" };
  return execFileSync(process.execPath, [join(root, "scripts/bench.mjs"), flag], { encoding: "utf8", env });
}

test("npm run bench -- --help lists options, scenarios and libraries, and does nothing", () => {
  const text = help("--help");
  expect(help("-h")).toBe(text);
  const told = [...text.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, option]) => option);
  expect(told.toSorted()).toEqual(
    ["--node", "--quick", "--scenario", "--library", "--rounds", "--seconds", "--markdown", "--results"]
      .concat("--dist", "--holdfast-options", "--record", "--charts")
      .toSorted(),
  );
  expect(text).toMatch(/^Scenarios:\n(?: {2}\S+ +\S.*\n)* {2}hand-over +/m);
  expect(text).toMatch(/^Libraries:\n(?: {2}\S+\n)* {2}redlock-5\n/m);
});

test("each option of the bench that the guide uses is one that it lists", () => {
  const guide = readFileSync(join(root, "CONTRIBUTING.md"), "utf8");
  const lines = guide.match(/^npm run bench -- .*/gm) ?? [];
  const used = lines.flatMap((line) => line.match(/ --[a-z-]+/g) ?? []).map((option) => option.trim());
  expect(used.length).toBeGreaterThan(5);
  const text = help("--help");
  for (const option of used) if (option !== "--help") expect(text).toContain(`  ${option} `);
});

test.each([
  [["--charts", "--quick"], "--charts measures nothing, and takes no other option"],
  [["--record"], "--record measures nothing: it takes a file of results, and no other option"],
  [["--record", "results.jsonl", "--quick"], "--record measures nothing: it takes a file of results"],
  [["--quick", "--record", "results.jsonl"], "--record measures nothing: it takes a file of results"],
  [["--node", "20", "--rounds", "none"], "--rounds must be a number above 0, not none"],
])("%j is refused before anything is built, measured or drawn", (args, message) => {
  const env = { ...process.env, HOLDFAST_NO_INSTALL: "1", PATH: "" };
  const { status, stderr, stdout } = spawnSync(process.execPath, [join(root, "scripts/bench.mjs"), ...args], {
    encoding: "utf8",
    env,
  });
  expect(stderr).toContain(message);
  expect(stdout).toBe("");
  expect(status).not.toBe(0);
});
