// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the text of a program.
import { expect, test } from "vitest";
import { exposePrivates } from "../../../scripts/expose-privates.mjs";

test("private names become plain ones that tell their class, and nothing else changes", () => {
  const code = [
    "class Base { #x = 1; get x() { return this.#x; } }",
    "class Sub extends Base { #x = `#x ${this.#m()}`; #m() { return '#x'; } static is(o) { return #x in o; } } // #x",
    "const pattern = /#x/;",
  ].join("\n");
  expect(exposePrivates(code, "one.js")).toBe(
    [
      "class Base { _Base_x = 1; get x() { return this._Base_x; } }",
      "class Sub extends Base { _Sub_x = `#x ${this._Sub_m()}`; _Sub_m() { return '#x'; } static is(o) { return \"_Sub_x\" in o; } } // #x",
      "const pattern = /#x/;",
    ].join("\n"),
  );
});

test("what a module keeps is exported, as it is when it is asked for", () => {
  expect(exposePrivates("const all = new Map();\nlet count = 0;\n", "one.js")).toBe(
    "const all = new Map();\nlet count = 0;\n\nexport const _tables = { all: () => all };\n",
  );
});

test("a name that is there already is refused", () => {
  expect(() => exposePrivates("class A { #b = 1; _A_b = 2; }", "one.js")).toThrow(
    "one.js has the name _A_b already",
  );
});
