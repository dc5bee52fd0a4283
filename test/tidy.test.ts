import { describe, expect, it } from "vitest";
import { documentRules } from "./support/tidy/document-rules.js";
import { luaRules } from "./support/tidy/lua-rules.js";
import { proseRules } from "./support/tidy/prose-rules.js";
import { sourceRules } from "./support/tidy/source-rules.js";
import { testRules } from "./support/tidy/test-rules.js";
import { projectFiles, read } from "./support/tidy/tree.js";

const files = projectFiles();

const rules = [...luaRules, ...sourceRules, ...documentRules, ...proseRules, ...testRules];

describe.each(rules)("tidy: $promise", (rule) => {
  it.each(rule.offences)("complains about $text in $path", ({ path, text }) => {
    expect(rule.applies(path)).toBe(true);
    expect(rule.problems(text, path)).not.toEqual([]);
  });

  it("has nothing to complain about", () => {
    const judged = files.filter((path) => rule.applies(path));
    expect(judged).not.toEqual([]);
    const problems = judged.flatMap((path) =>
      rule.problems(read(path), path).map((problem) => `${path}: ${problem}`),
    );
    expect(problems).toEqual([]);
  });
});
