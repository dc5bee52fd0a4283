import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../support/tidy/tree.js";

const MOST_LINES = 12;

const folders = readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => join(entry.parentPath, entry.name))
  .filter((folder) => sourcesOf(folder).length > 0)
  .map((folder) => folder.slice(root.length + 1))
  .sort();

function sourcesOf(folder: string): readonly string[] {
  return readdirSync(folder).filter((file) => file.endsWith(".ts"));
}

describe("the index of a folder", () => {
  it("is there for each of the large ones", () => {
    expect(folders).toEqual(expect.arrayContaining(["src/locks", "src/runtime", "src/driver/own"]));
  });

  it.each(folders)("says for each file of %s when to open it", (folder) => {
    const text = readFileSync(join(root, folder, "README.md"), "utf8");
    const named = [...text.matchAll(/`([\w.-]+\.ts)`/g)].map(([, file = ""]) => file);
    expect([...new Set(named)].sort()).toEqual([...sourcesOf(join(root, folder))].sort());
  });

  it.each(folders)("of %s is read at a glance", (folder) => {
    const lines = readFileSync(join(root, folder, "README.md"), "utf8")
      .trimEnd()
      .split("\n");
    expect(lines.length).toBeLessThanOrEqual(MOST_LINES);
    expect(lines[0]).toBe(`# ${folder.slice("src/".length)}`);
  });

  it("is not published", () => {
    const { files } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    expect(files).toEqual(["dist"]);
  });
});
