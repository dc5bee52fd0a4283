import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { publicApi } from "../../scripts/declarations.mjs";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-declarations-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function apiOf(files: Record<string, string>) {
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  return publicApi([join(folder, "index.d.ts")]);
}

it("lists what is exported, under the name it is exported by", () => {
  const api = apiOf({
    "index.d.ts": 'export { a, b as c } from "./a.js";\nexport * from "./d.js";\n',
    "a.d.ts": "export declare const a: 1;\nexport declare const b: 2;\n",
    "d.d.ts": "export interface D {\n}\n",
  });
  expect(api.exported).toEqual([["D", "a", "c"]]);
});

it("follows declarations to all that they mention, through files and past comments", () => {
  const api = apiOf({
    "index.d.ts":
      'import type { Far } from "./far.js";\n/** Unused */\nexport interface Near {\n    /** Far */\n    far: Far;\n}\n',
    "far.d.ts": "type Hidden = 1;\ntype Unused = 2;\nexport interface Far {\n    hidden: Hidden;\n}\n",
  });
  expect(api.declarations).toEqual([
    "interface Far {\n    hidden: Hidden;\n}\n",
    "type Hidden = 1;\n",
    "interface Near {\n    far: Far;\n}\n",
  ]);
});

it("keeps all overloads of a function, and leaves out other packages", () => {
  const api = apiOf({
    "index.d.ts":
      'import type { Redis } from "ioredis";\nexport declare function f(a: Redis): void;\nexport declare function f(a: string): void;\n',
  });
  expect(api.declarations).toEqual(["function f(a: Redis): void;\nfunction f(a: string): void;\n"]);
});
