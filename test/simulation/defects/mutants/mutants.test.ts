import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAst } from "vite";
import { describe, expect, it } from "vitest";
import { strideOf } from "../../../support/run/stride.js";
import { luaMistake } from "../lua-syntax.js";
import { explainer } from "../survivors/survivor.js";
import { survivors } from "../survivors/survivors.js";
import { root } from "../variant.js";
import { luaMutants } from "./lua-mutants.js";
import { allMutants, decidingFiles } from "./mutants.js";
import { scriptMutants } from "./script-mutants.js";

const WORDS_IN_A_ROW = 3;
/** A campaign parses each of them. */
const STRIDE = strideOf(10);
const mutants = allMutants();

const replacements = (mutants: readonly { readonly line: string }[]) => mutants.map(({ line }) => line);

describe("the mutants", () => {
  it("of a TypeScript source are of its comparisons, its ones, its conditions and its calls, not of its types and texts", () => {
    const source = 'const text: Array<1 | 2> = f("a < b && !c"); // a < b\nif (!a && b < c + 1) g();\n';
    const found = scriptMutants("a.ts", source);
    expect(found.map(({ id }) => id)).toEqual([
      "a.ts:2:5:not-dropped",
      "a.ts:2:8:&&-to-||",
      "a.ts:2:13:<-to-<=",
      "a.ts:2:13:<-to->=",
      "a.ts:2:17:+-1-dropped",
      "a.ts:2:17:+-to--",
      "a.ts:2:22:call-dropped",
    ]);
    expect(found.at(4)?.line).toBe("if (!a && b < c ) g();");
  });

  it("of a Lua script likewise", () => {
    const source =
      '--[[ a < b ]]\n-- a < b\nif not a and b ~= "x < y" then\n  redis.call("DEL", a)\nend\nreturn n - 1\n';
    expect(replacements(luaMutants("a.lua", source))).toEqual([
      'if  a and b ~= "x < y" then',
      'if not a or b ~= "x < y" then',
      'if not a and b == "x < y" then',
      "",
      "return n",
      "return n + 1",
    ]);
  });

  it("are of all files that decide, each under an id of its own", () => {
    expect(new Set(mutants.map(({ id }) => id)).size).toBe(mutants.length);
    const without = decidingFiles().filter((file) => !mutants.some((mutant) => mutant.file === file));
    // They only include, or read.
    expect(without).toEqual([
      "src/protocol/scripts/include/now-ms.lua",
      "src/protocol/scripts/include/read-write-look.lua",
      "src/protocol/scripts/include/server-time.lua",
    ]);
  });

  const mutated = decidingFiles().filter((file) => mutants.some((mutant) => mutant.file === file));

  it.each(mutated)("of %s are programs", (file) => {
    const source = readFileSync(join(root, file), "utf8");
    const some = mutants.filter((mutant) => mutant.file === file).filter((_, nth) => nth % STRIDE === 0);
    for (const { id, start, end, replacement } of some) {
      const changed = source.slice(0, start) + replacement + source.slice(end);
      expect(changed, id).not.toBe(source);
      if (file.endsWith(".lua")) expect(luaMistake(changed), id).toBeUndefined();
      else expect(() => parseAst(changed, { lang: "ts" }), id).not.toThrow();
    }
  });

  it("that are said to survive are there", () => {
    const stale = survivors.filter((survivor) => !mutants.some(explainer(survivor)));
    expect(stale).toEqual([]);
  });

  it("that a test sees name one that is there", () => {
    const seen = survivors.filter(({ why }) => why === "a test sees it");
    const named = new Set(seen.flatMap(({ because }) => because.split(/, and (?=test\/)/)));
    expect([...named].filter((test) => !isThere(test))).toEqual([]);
  });
});

/** Whether a test file has a part of a title, of which another part may be filled in for each case. */
function isThere(named: string): boolean {
  const [, file = "", title = ""] = /^(\S+\.test\.ts): (.+)$/s.exec(named) ?? [];
  const source = readFileSync(join(root, file), "utf8").replaceAll(/\s+/g, " ");
  const words = title.split(" ");
  const rows = words.map((_, at) => words.slice(at, at + WORDS_IN_A_ROW));
  const whole = rows.filter(({ length }) => length === Math.min(WORDS_IN_A_ROW, words.length));
  return whole.some((row) => source.includes(row.join(" ")));
}
