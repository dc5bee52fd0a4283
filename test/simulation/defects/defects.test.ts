import { describe, expect, it } from "vitest";
import { KINDS } from "../workload/families.js";
import { defects } from "./defects.js";
import { luaMistake } from "./lua-syntax.js";
import { kindsOf } from "./mutants/kinds.js";
import { decidingFiles } from "./mutants/mutants.js";
import { changedFiles, changedSources, compiled, flatScripts } from "./variant.js";

describe("the planted defects", () => {
  it("are at least as many as are asked for, each with a name of its own", () => {
    const names = defects.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThanOrEqual(64);
  });

  it("are about kinds that there are", () => {
    const kinds = new Set([...KINDS, "red", "latch"]);
    expect(defects.flatMap((defect) => defect.kinds ?? []).filter((kind) => !kinds.has(kind))).toEqual([]);
    const ofFiles = decidingFiles().flatMap((file) => kindsOf(file) ?? []);
    expect(ofFiles.filter((kind) => !kinds.has(kind))).toEqual([]);
  });

  it.each(defects)("$name changes what is there, into something that runs", async ({ edits }) => {
    const changed = await changedSources(edits);
    expect(changed.size).toBeGreaterThan(0);
    for (const [file, source] of changed) await compiled(file, source);
    if (!edits.some(({ file }) => file.endsWith(".lua"))) return;
    for (const { name, lua } of await flatScripts(changedFiles(edits)))
      expect(luaMistake(lua), name).toBeUndefined();
  });

  it("fail where what they replace is not there, or there twice", async () => {
    const file = "src/threads/doubts.ts";
    await expect(changedSources([{ file, find: "nowhere", replace: "" }])).rejects.toThrow("has no");
    await expect(changedSources([{ file, find: "doubt", replace: "" }])).rejects.toThrow("more than once");
    await expect(
      changedSources([{ file: "src/protocol/scripts/lock-renew.lua", find: "A TTL", replace: "A TTL" }]),
    ).rejects.toThrow();
  });
});
