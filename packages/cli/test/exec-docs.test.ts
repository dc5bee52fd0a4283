import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { markdownTables } from "../../../test/support/models/markdown-tables.js";
import { execCommand } from "../src/exec/exec-command.js";
import { exitCodes } from "../src/exit-codes.js";
import { run } from "../src/program.js";

const page = readFileSync(join(import.meta.dirname, "../../../docs/reference/command-line.md"), "utf8");
const section = (heading: string) => page.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
const inBackticks = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);

describe("docs/reference/command-line.md", () => {
  it("lists each option of exec, and no other", () => {
    const [table] = markdownTables(section("exec"));
    const listed = (table?.rows ?? []).flatMap(([options = ""]) => inBackticks(options));
    const made = execCommand(() => () => Promise.resolve());
    const own = made.options.filter(({ helpGroupHeading }) => helpGroupHeading !== "Connection:");
    const flags = own.flatMap(({ short, long }) => (long === "--quiet" ? [short] : [short, long]));
    // -n is told with --wait.
    expect(listed.sort()).toEqual(flags.filter((flag) => flag !== undefined && flag !== "-n").sort());
  });

  it("lists each exit code but those of single commands", () => {
    const [table] = markdownTables(section("Exit codes"));
    const listed = (table?.rows ?? []).flatMap(([code = ""]) => code.match(/\d+/g) ?? []).map(Number);
    for (const code of Object.values(exitCodes)) if (code !== exitCodes.no) expect(listed).toContain(code);
  });
});

describe("holdfast help exec", () => {
  it("says what is promised and what is not", async () => {
    let text = "";
    const out = { write: (part: string) => (text += part) };
    expect(await run(["help", "exec"], { env: {}, out, err: out })).toBe(0);
    expect(text).toContain("What is promised");
    expect(text).toContain("What is not promised");
    expect(text).toContain("--kill-after <duration>");
    const [, promises = ""] = text.split("What is promised");
    expect(promises.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });
});
