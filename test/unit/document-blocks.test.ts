import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  blocksOf,
  type CodeBlock,
  documentBlocks,
  isOwn,
  isScript,
} from "../support/documents/code-blocks.js";
import { typeErrors } from "../support/documents/type-check.js";
import { projectFiles, read, root } from "../support/tidy/tree.js";

const FOLDER = join(root, "build/test/document-blocks");
/** Of ten blocks of TypeScript or JavaScript, so many may be fragments. */
const MOST_FRAGMENTS_OF_TEN = 1;

const blocks = documentBlocks();
const scripts = blocks.filter(isScript);

const place = ({ path, line }: CodeBlock) => `${path}:${line}`;

describe("blocks of code in documents", () => {
  test("the compiler accepts each script that is not quoted from a file", async () => {
    const own = scripts.filter(isOwn);
    expect(own.length).toBeGreaterThan(50);
    expect(await typeErrors(own, join(FOLDER, "documents"))).toEqual([]);
  });

  test("the compiler's complaint names the line of the document", async () => {
    const page = [
      "# A page",
      "```ts",
      'const job = holdfast.getLock("job");',
      "```",
      "1. A step",
      "   ```ts",
      "   await job.lock();",
      "   await job.lock({ waitSeconds: 5 });",
      "   ```",
    ];
    const errors = await typeErrors(blocksOf(page.join("\n"), "page.md"), join(FOLDER, "wrong"));
    expect(errors).toEqual([expect.stringMatching(/^page\.md:8 ts: error TS\d+: .*waitSeconds/)]);
  });

  test("at most one script in ten is a fragment", () => {
    const fragments = scripts.filter(({ isFragment }) => isFragment).map(place);
    expect(fragments.length * 10, fragments.join(", ")).toBeLessThanOrEqual(
      scripts.length * MOST_FRAGMENTS_OF_TEN,
    );
  });

  test("each block of JSON can be parsed", () => {
    const json = blocks.filter(({ language }) => language === "json");
    expect(json).not.toEqual([]);
    for (const { code } of json) expect(() => JSON.parse(code)).not.toThrow();
  });

  test("each `npm run` names a script", () => {
    const manifests = projectFiles().filter((path) => /^(?:examples\/[\w-]+\/)?package\.json$/.test(path));
    const known = new Set(manifests.flatMap((path) => Object.keys(JSON.parse(read(path)).scripts ?? {})));
    expect(unknown(/^npm run ([\w:-]+)/gm, known)).toEqual([]);
  });

  test("each line that runs holdfast names a command of it", () => {
    const sources = projectFiles("packages/cli/src/").map(read);
    const named = sources.flatMap((text) => [...text.matchAll(/\b[cC]ommand\(\s*"([\w-]+)/g)]);
    const commands = new Set(named.map(([, command = ""]) => command));
    expect(unknown(/^holdfast ([\w-]+)/gm, commands)).toEqual([]);
  });
});

function unknown(pattern: RegExp, known: ReadonlySet<string>): string[] {
  const shell = blocks.filter(({ language }) => language === "sh");
  return shell.flatMap((block) =>
    [...block.code.matchAll(pattern)].flatMap(([, word = ""]) =>
      known.has(word) ? [] : [`${place(block)}: ${word}`],
    ),
  );
}
