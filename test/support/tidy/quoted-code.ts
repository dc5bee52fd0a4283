import { existsSync } from "node:fs";
import { join } from "node:path";
import type { TidyRule } from "./rule.js";
import { read, root } from "./tree.js";

const MARKS = /^<!-- from .*$/gm;
const MARKED_BLOCK =
  /^<!-- from (?<file>[\w./-]+)(?:#(?<part>@?[\w-]+))? -->\n```\w*\n(?<code>[\s\S]*?)^```$/my;

/**
 * A block of code under the line `<!-- from examples/cron/croner.mjs#croner -->` is that region of the file, byte for byte but for its
 * indentation. Without a part it is the whole file; `#@example` is the first example of its comments.
 */
export const quotesFiles: TidyRule = {
  promise: "a block of code that names the file it is from is what stands in that file",
  applies: (path) => path.endsWith(".md"),
  problems: (text) => [...text.matchAll(MARKS)].flatMap((mark) => misquoted(text, mark.index)),
  offences: [
    "<!-- from test/tidy.test.ts -->\n\nA block of code comes later.\n",
    "<!-- from test/no-such-file.ts -->\n```ts\n```\n",
    "<!-- from test/tidy.test.ts -->\n```ts\nconst other = 1;\n```\n",
    "<!-- from src/recipes/leader.ts#no-such-region -->\n```ts\n```\n",
    "<!-- from src/recipes/leader.ts#@example -->\n```ts\nawait leader(holdfast);\n```\n",
    "<!-- from src/clock.ts#@example -->\n```ts\n```\n",
  ].map((text) => ({ path: "docs/example.md", text })),
};

function misquoted(text: string, index: number): string[] {
  const line = `line ${text.slice(0, index).split("\n").length}`;
  MARKED_BLOCK.lastIndex = index;
  const { file = "", part, code = "" } = MARKED_BLOCK.exec(text)?.groups ?? {};
  if (file === "") return [`${line}: write <!-- from file#region --> and the block of code right under it`];
  if (!existsSync(join(root, file))) return [`${line}: ${file}: no such file`];
  const expected = partOf(read(file), part);
  if (expected === undefined) return [`${line}: ${file} has no ${part}`];
  return code === expected ? [] : [`${line}: this is not what stands in ${file}:\n${expected}`];
}

function partOf(text: string, part: string | undefined): string | undefined {
  if (part === undefined) return text;
  return part === "@example" ? firstExample(text) : region(text, part);
}

/** What stands between `// #region name` and `// #endregion`, which editors fold. */
function region(text: string, name: string): string | undefined {
  const lines = text.split("\n");
  const first = lines.findIndex((line) => line.trim() === `// #region ${name}`);
  const last = lines.findIndex((line, at) => at > first && line.trim() === "// #endregion");
  if (first === -1 || last === -1) return undefined;
  const inside = lines.slice(first + 1, last);
  const indents = inside.filter((line) => line !== "").map((line) => line.search(/\S/));
  const indent = Math.min(...indents);
  return inside.map((line) => `${line.slice(indent)}\n`).join("");
}

function firstExample(text: string): string | undefined {
  const [, example] = /^ *\* @example\n((?: *\*(?: (?!@).*)?\n)*)/m.exec(text) ?? [];
  return example?.replace(/^ *\* ?/gm, "");
}
