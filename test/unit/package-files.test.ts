import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { exportsField, typescriptPaths } from "../../scripts/generate-exports.mjs";
import { lateBuiltins } from "../../scripts/late-builtins.mjs";
import { packages, repositoryAt, withAbsoluteLinks, withAddresses } from "../../scripts/pack.mjs";
import { plainExports } from "../../scripts/plain-exports.mjs";
import { restorePrivateNames } from "../../scripts/private-names.mjs";
import { root } from "../support/tidy/tree.js";

const json = (file: string) => JSON.parse(readFileSync(join(root, file), "utf8"));

describe("the subpaths", () => {
  it("stand in package.json and tsconfig.paths.json as they are generated", () => {
    expect(json("package.json").exports).toEqual(exportsField());
    expect(json("tsconfig.paths.json")).toEqual(typescriptPaths());
  });

  it("have the ES module before the CommonJS one, so that a process has one copy of each class", () => {
    for (const entry of Object.values(exportsField()).filter((value) => typeof value === "object")) {
      expect(Object.keys(entry as object)).toEqual(["module-sync", "require", "default"]);
    }
  });
});

describe("private names in minified code", () => {
  it("are given back to what a stack trace names: methods, accessors and functions in fields", () => {
    const original =
      "class A { #count = 0; #onTick = () => this.#count; get #size() { return 1; } set #size(to) {} #flush() { this.#onTick(this.#size); } }";
    const minified = "class A{#a=0;#b=()=>this.#a;get #c(){return 1}set #c(e){}#d(){this.#b(this.#c)}}";
    expect(restorePrivateNames(original, minified)).toBe(
      "class A{#a=0;#onTick=()=>this.#a;get #size(){return 1}set #size(e){}#flush(){this.#onTick(this.#size)}}",
    );
  });

  it("belong to the innermost class that has them", () => {
    const original =
      "class A { #outer() { return class { #inner() {} run(a) { a.#outer(); this.#inner(); } }; } }";
    const minified = "class A{#a(){return class{#b(){}run(e){e.#a(),this.#b()}}}}";
    expect(restorePrivateNames(original, minified)).toBe(
      "class A{#outer(){return class{#inner(){}run(e){e.#outer(),this.#inner()}}}}",
    );
  });

  it.each([
    ["another class than the original", "class A { #run() {} }", "class A{#a=1}", "other classes"],
    ["a name twice", "class A { #b() {} #count = 0; }", "class A{#a(){}#b=0}", "a name twice: b, b"],
  ])("are refused where minified code would have %s", (_, original, minified, message) => {
    expect(() => restorePrivateNames(original, minified)).toThrow(message);
  });
});

describe("what one CommonJS chunk exports to another", () => {
  const getter = (name: string, local: string) =>
    `Object.defineProperty(exports,"${name}",{enumerable:!0,get:function(){return ${local}}})`;

  it("is a plain property, except for a binding that changes", () => {
    const code = "const a=1;let b=2;function c(){let a=3;b=a}";
    expect(plainExports(`${code}${getter("x", "a")},${getter("y", "b")},${getter("z", "c")};`)).toBe(
      `${code}exports.x=a,${getter("y", "b")},exports.z=c;`,
    );
  });
});

describe("modules of Node that are loaded late", () => {
  it("are stood in for by all that the sources import of them, as functions and as objects of functions", async () => {
    const { resolveId, load } = lateBuiltins() as unknown as Record<string, (id: string) => string | null>;
    expect(resolveId?.("node:events")).toBeNull();
    const importLate = async (name: string) => {
      const text = load?.(resolveId?.(name) ?? "") ?? "";
      return import(`data:text/javascript,${encodeURIComponent(text)}`);
    };
    const { createHash, randomUUID } = await importLate("node:crypto");
    expect(createHash("sha1").update("").digest("hex")).toBe("da39a3ee5e6b4b0d3255bfef95601890afd80709");
    expect(randomUUID()).toHaveLength(36);
    const { inspect, types } = await importLate("node:util");
    expect(inspect({ a: 1 })).toBe("{ a: 1 }");
    expect(types.isNativeError(new Error("broken"))).toBe(true);
  });
});

describe("packed code", () => {
  const base = { pages: "https://a.example/", files: "https://b.example/" };
  const code =
    'throw "see docs/guide/a.md"; // https://a.example/docs/guide/a.md\n//# sourceMappingURL=a.js.map\n';

  it("names pages by their addresses, and no source map", () => {
    const packed = 'throw "see https://a.example/docs/guide/a.md"; // https://a.example/docs/guide/a.md\n';
    expect(withAddresses(code, ".", base)).toBe(packed);
  });

  it("keeps the pages of the command line, which makes addresses of them itself", () => {
    expect(withAddresses(code, "packages/cli", base)).toContain('"see docs/guide/a.md"');
  });
});

describe("a packed README", () => {
  const manifest = { version: "1.2.3", repository: { url: "git+https://github.com/some/one.git" } };

  it("leads to the repository at the tag of its version", () => {
    const text = "[guide](docs/a.md#b) [up](../../docs/c.md) [there](https://a.example) [here](#d)";
    expect(withAbsoluteLinks(text, "packages/cli", repositoryAt(manifest))).toBe(
      "[guide](https://github.com/some/one/blob/v1.2.3/packages/cli/docs/a.md#b) [up](https://github.com/some/one/blob/v1.2.3/docs/c.md) [there](https://a.example) [here](#d)",
    );
    const picture = '<img alt="x" src="docs/a.svg">';
    expect(withAbsoluteLinks(picture, ".", repositoryAt(manifest))).toBe(
      '<img alt="x" src="https://raw.githubusercontent.com/some/one/v1.2.3/docs/a.svg">',
    );
  });

  it("has a repository to lead to, in each package", () => {
    for (const folder of packages) {
      expect(repositoryAt(json(join(folder, "package.json"))).pages).toMatch(
        /^https:\/\/github\.com\/.+\/v[\d.]+\/$/,
      );
    }
  });

  it("is refused where the manifest has no repository on GitHub", () => {
    expect(() => repositoryAt({ ...manifest, repository: { url: "https://example.com/x" } })).toThrow(
      "no repository",
    );
  });
});

describe("the lockfile", () => {
  it("has the optional packages of all platforms, without which `npm ci` refuses", () => {
    type Locked = Record<string, { readonly optionalDependencies?: Record<string, string> }>;
    const locked = json("package-lock.json").packages as Locked;
    const wanted = Object.values(locked).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {}));
    const paths = Object.keys(locked);
    expect(wanted).not.toEqual([]);
    expect(wanted.filter((name) => !paths.some((path) => path.endsWith(`node_modules/${name}`)))).toEqual([]);
  });
});
