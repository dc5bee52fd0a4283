import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, expect, it } from "vitest";

/** How many files of one folder may import each other in a row, for types as well: a reader has to know them all to change the first. */
const limits: readonly (readonly [folder: string, files: number])[] = [["src/locks", 11]];

const root = join(import.meta.dirname, "../..");

type Imports = ReadonlyMap<string, readonly string[]>;

function importsIn(folder: string): Imports {
  const files = readdirSync(join(root, folder)).filter((file) => file.endsWith(".ts"));
  return new Map(files.map((file) => [file, importsOf(readFileSync(join(root, folder, file), "utf8"))]));
}

/** The files of its own folder that a file imports. */
function importsOf(text: string): readonly string[] {
  const specifiers = [...text.matchAll(/^(?:import|export)\b[^;]*?"(\.[^"]+)";$/gm)];
  return specifiers
    .map(([, specifier = ""]) => posix.normalize(specifier))
    .filter((path) => !path.includes("/"))
    .map((path) => path.replace(/\.js$/, ".ts"));
}

/** The longest way along imports. @throws Error for a circle, which has no end */
function longestChain(imports: Imports): readonly string[] {
  const known = new Map<string, readonly string[]>();
  const from = (file: string, way: readonly string[]): readonly string[] => {
    if (way.includes(file)) throw new Error(`a circle of imports: ${[...way, file].join(" > ")}`);
    const chain = known.get(file) ?? [file, ...longest(imports.get(file) ?? [], [...way, file])];
    known.set(file, chain);
    return chain;
  };
  const longest = (files: Iterable<string>, way: readonly string[]) =>
    [...files].map((file) => from(file, way)).reduce((a, b) => (b.length > a.length ? b : a), []);
  return longest(imports.keys(), []);
}

describe("how many files import each other in a row", () => {
  it.each(limits)("is no more in %s than it was", (folder, files) => {
    const chain = longestChain(importsIn(folder));
    expect(chain.length, chain.join(" > ")).toBeLessThanOrEqual(files);
    expect(files, "the limit goes down with the chain").toBe(chain.length);
  });

  it("counts what is imported on the longest way, for a type as well", () => {
    const imports = new Map([
      ["a.ts", importsOf('import { d } from "./d.js";\nimport {\n  type B,\n  b,\n} from "./b.js";\n')],
      ["b.ts", importsOf('import type { C } from "./c.js";\nimport { x } from "../x.js";\n')],
      ["c.ts", importsOf('export { d } from "./d.js";\n')],
      ["d.ts", importsOf('import { readFileSync } from "node:fs";\n')],
    ]);
    expect(longestChain(imports)).toEqual(["a.ts", "b.ts", "c.ts", "d.ts"]);
  });

  it("refuses a circle", () => {
    const imports = new Map([
      ["a.ts", ["b.ts"]],
      ["b.ts", ["a.ts"]],
    ]);
    expect(() => longestChain(imports)).toThrow("a.ts > b.ts > a.ts");
  });
});
