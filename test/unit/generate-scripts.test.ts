import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { flattenLua, renderModule } from "../../scripts/generate-scripts.mjs";
import { sources } from "../../src/protocol/scripts.js";

const none = () => "";

it("sends code alone: neither header, comment lines nor blank lines", () => {
  const source = "--[[\n  a: header -- with dashes\n]]\n-- why\nlocal a = 1\n\n  -- why\nreturn a -- b\n";
  expect(flattenLua(source, none)).toBe("local a = 1\nreturn a -- b");
});

it("puts an include in place of its line, once, with what it includes itself", () => {
  const includes: Record<string, string> = {
    outer: "--[[\n  outer\n]]\n--@include inner\nlocal outer\n",
    inner: "local inner\n",
  };
  const source = "--@include outer\n--@include inner\n--@include outer\nreturn 1\n";
  expect(flattenLua(source, (name) => includes[name] ?? "")).toBe("local inner\nlocal outer\nreturn 1");
});

it("writes Lua that a template literal would change as it is", () => {
  const text = renderModule([{ name: "lock-example", lua: 'return "\\n`${"' }]);
  expect(text).toContain('`return "\\\\n\\`\\${"`,');
});

it.each(Object.entries(sources))("names %s and hashes it as the server does", (name, source) => {
  expect(source.name).toBe(name);
  expect(source.sha1).toBe(createHash("sha1").update(source.lua).digest("hex"));
});
