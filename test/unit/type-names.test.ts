import { parseAst } from "vite";
import { describe, expect, it } from "vitest";
import { projectFiles, read } from "../support/tidy/tree.js";

const OF_TYPES: ReadonlySet<unknown> = new Set([
  "ClassDeclaration",
  "ClassExpression",
  "TSInterfaceDeclaration",
  "TSTypeAliasDeclaration",
]);

/** The classes, interfaces and types that a file declares, wherever in it; neither what it imports nor what it exports again. */
function declaredIn(text: string): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    if ("type" in value && OF_TYPES.has(value.type)) names.add((value as Declaration).id?.name ?? "");
    for (const part of Object.values(value)) visit(part);
  };
  visit(parseAst(text, { lang: "ts" }).body);
  names.delete("");
  return names;
}

/** @returns each name that several files declare, with these files */
function ambiguous(files: ReadonlyMap<string, string>): ReadonlyMap<string, readonly string[]> {
  const declaring = new Map<string, string[]>();
  for (const [file, text] of files)
    for (const name of declaredIn(text)) declaring.set(name, [...(declaring.get(name) ?? []), file]);
  return new Map([...declaring].filter(([, where]) => where.length > 1));
}

interface Declaration {
  readonly id?: { readonly name: string } | null;
}

describe("the name of a type", () => {
  it("is declared by one file of the sources, and so means one thing", () => {
    const sources = projectFiles().filter((path) => /^(?:packages\/[^/]+\/)?src\/.*\.ts$/.test(path));
    expect(sources).toContain("src/index.ts");
    expect(sources.some((path) => path.startsWith("packages/"))).toBe(true);
    expect([...ambiguous(new Map(sources.map((path) => [path, read(path)])))]).toEqual([]);
  });

  it("is that of a class, an interface or a type, exported or not, also within a function or a module", () => {
    const text =
      'export default class A {}\ninterface B<T> {}\nexport type C =\n  | 1;\nexport abstract class D {}\nfunction f() {\n  type E = 1;\n}\ndeclare module "m" {\n  interface F {}\n}\n';
    expect([...declaredIn(text)]).toEqual(["A", "B", "C", "D", "E", "F"]);
  });

  it("may be imported and exported again by any file, and stand in texts", () => {
    const text =
      'import { type A, B } from "./a.js";\nimport type { C } from "./a.js";\nexport { type A, D as E } from "./a.js";\n// class F\nconst text = "interface G {}";\n';
    expect([...declaredIn(text)]).toEqual([]);
  });

  it("is refused where a second file declares it", () => {
    const files = new Map([
      ["a.ts", "interface Wanted {}\nclass Own {}"],
      ["b.ts", 'import type { Own } from "./a.js";\ntype Wanted = 1;'],
    ]);
    expect([...ambiguous(files)]).toEqual([["Wanted", ["a.ts", "b.ts"]]]);
  });
});
