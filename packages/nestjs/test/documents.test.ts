import { join } from "node:path";
import { expect, test } from "vitest";
import { type CodeBlock, documentBlocks } from "../../../test/support/documents/code-blocks.js";
import { typeErrors } from "../../../test/support/documents/type-check.js";
import { root } from "../../../test/support/tidy/tree.js";

const FOLDER = join(root, "build/test/nest-documents");
const DOCUMENTS = /^(?:docs\/guide\/nestjs.*|packages\/nestjs\/README)\.md$/;
const SETTING = {
  tsconfig: join(import.meta.dirname, "documents/tsconfig.json"),
  names: join(import.meta.dirname, "documents/names.ts"),
};

/** A decorated method, without its class. */
const METHOD = /^@\w+\([^\n]*\)\nasync /;
const CLASS =
  'import { Holdfast } from "holdfast";\nclass Fragment { constructor(readonly holdfast: Holdfast) {}\n';

/** The fragment as it may stand in a function. */
function inFunction(block: CodeBlock): CodeBlock {
  const code = block.code.replace(/^export (?=class)/gm, "");
  if (!METHOD.test(code)) return { ...block, code };
  return { ...block, line: block.line - CLASS.split("\n").length + 1, code: `${CLASS}${code}}\n` };
}

const fragments = documentBlocks().filter(
  ({ path, language, isFragment }) => DOCUMENTS.test(path) && language === "ts" && isFragment,
);

test("the compiler accepts each fragment about Nest", async () => {
  expect(fragments.length).toBeGreaterThan(4);
  expect(await typeErrors(fragments.map(inFunction), join(FOLDER, "own"), SETTING)).toEqual([]);
});

test("the compiler's complaint names the line of the fragment", async () => {
  const code = "@Locked((id: string) => id, { waitSeconds: 5 })\nasync pay(id: string): Promise<void> {}\n";
  const block = { path: "page.md", line: 7, language: "ts", isFragment: true, isQuoted: false, code };
  expect(await typeErrors([inFunction(block)], join(FOLDER, "wrong"), SETTING)).toEqual([
    expect.stringMatching(/^page\.md:7 ts: error TS\d+: .*waitSeconds/),
  ]);
});
