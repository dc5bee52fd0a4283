import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { partsOf, renderModules } from "../../scripts/generate-scripts.mjs";
import { withShortNames } from "../../scripts/lua-names.mjs";
import { sources } from "../support/all-scripts.js";

const includes: Record<string, string> = {
  outer: "--[[\n  outer\n]]\n--@include inner\nlocal outer\n",
  inner: "local inner\n",
  "other-one": "local other\n",
};
const readInclude = (name: string) => includes[name] ?? "";
const script = (name: string, source: string) => ({ name, parts: partsOf(source, readInclude) });

it("sends code alone: neither header, comment lines nor blank lines", () => {
  const source = "--[[\n  a: header -- with dashes\n]]\n-- why\nlocal a = 1\n\n  -- why\nreturn a -- b\n";
  expect(partsOf(source, readInclude)).toEqual([{ text: "local a = 1\nreturn a -- b" }]);
});

it("puts an include in place of its line, once, after what it includes itself", () => {
  const source = "local a\n  --@include outer\n--@include inner\n--@include outer\nreturn 1\n";
  expect(partsOf(source, readInclude)).toEqual([
    { text: "local a" },
    { include: "inner", text: "local inner" },
    { include: "outer", text: "local outer" },
    { text: "return 1" },
  ]);
});

it("has the text of an include once, and joins the scripts from it", () => {
  const { "scripts.ts": text } = renderModules([
    script("lock-one", "--@include other-one\nreturn 1\n"),
    script("lock-two", "local a\n--@include other-one\n"),
  ]);
  expect(text?.match(/local other/g)).toHaveLength(1);
  expect(text).toContain("const otherOne = `local other`;");
  const exported = (name: string) => `export const ${name}: ScriptSource = /* @__PURE__ */ scriptSource(`;
  expect(text).toContain(`${exported("lockOne")}\n  "lock-one",\n  \`\${otherOne}\nreturn 1\`,\n);`);
  expect(text).toContain(`${exported("lockTwo")}\n  "lock-two",\n  \`local a\n\${otherOne}\`,\n);`);
});

it("refuses an include that is not one text, as the scripts would get different ones", () => {
  includes["amid"] = "local before\n--@include inner\nlocal after\n";
  expect(() => renderModules([script("lock-one", "--@include amid\n")])).toThrow("amid.lua includes others");
});

it("puts scripts into a second module, which imports what those of the first include as well", () => {
  const all = [script("lock-one", "--@include inner\n"), script("lock-two", "--@include outer\n")];
  const { "scripts.ts": first, "later-scripts.ts": second } = renderModules(all, ["lock-two"]);
  expect(first).toContain("export const inner = `local inner`;");
  expect(first).not.toMatch(/outer|lock-two/);
  expect(second).toContain('import { inner } from "./scripts.js";');
  expect(second).toContain("\nconst outer = `local outer`;");
  expect(second).not.toMatch(/local inner|lock-one/);
});

it("writes Lua that a template literal would change as it is", () => {
  const { "scripts.ts": text } = renderModules([script("lock-example", 'return "\\n`${"\n')]);
  expect(text).toContain('`return "\\\\n\\`\\${"`,');
});

it.each(Object.entries(sources))("names %s and hashes it as the server does", (name, source) => {
  expect(source.name).toBe(name);
  expect(source.sha1).toBe(createHash("sha1").update(source.lua).digest("hex"));
});

describe("the names of a script", () => {
  it("are short where they are local, and the same wherever a text is included", () => {
    const include = "local function is_known(now_ms, ...)\nreturn now_ms\nend";
    const script = 'for each_key, _ in pairs(KEYS) do\nlocal first, last = is_known("now_ms"), each_key\nend';
    expect(withShortNames([include, script])).toEqual([
      "local function ik(nm, ...)\nreturn nm\nend",
      'for ek, _ in pairs(KEYS) do\nlocal f, l = ik("now_ms"), ek\nend',
    ]);
  });

  it("differ where the initials are the same, also from names that stay", () => {
    expect(withShortNames(["local now_ms, next_ms, nm = 1, 2, 3\nreturn n.now"])).toEqual([
      "local nm3, nm2, nm = 1, 2, 3\nreturn n.now",
    ]);
  });

  it.each([
    ["fields", "local value = {}\nreturn given.value"],
    ["keys of a table", "local value = 1\nreturn { value = value }"],
    ["methods", "local gsub = 1\nreturn text:gsub(gsub)"],
    ["globals", "return tonumber(redis.call(ARGV[1]))"],
    ["keywords and what is short", "local a, ok = 1, 2\nreturn not a and ok"],
  ])("stay as they are: %s", (_, text) => {
    expect(withShortNames([text])).toEqual([text]);
  });

  it("are found behind two dots, which are no field", () => {
    expect(withShortNames(['local holder = ""\nreturn "a"..holder'])).toEqual([
      'local h = ""\nreturn "a"..h',
    ]);
  });
});
