import { projectFiles, read } from "../tidy/tree.js";

export interface CodeBlock {
  readonly path: string;
  /** Of the first line of code in its document. */
  readonly line: number;
  readonly language: string;
  /** The info string says "fragment": neither a program nor the body of a function. */
  readonly isFragment: boolean;
  /** `test/tidy.test.ts` compares it with the file that it names. */
  readonly isQuoted: boolean;
  readonly code: string;
  /** With their types: names that only this block gets. Default: none. */
  readonly parameters?: string;
}

const BLOCK = /(?<mark><!-- from [^\n]* -->\n)?^(?<indent> *)```(?<info>[^\n`]*)\n(?<code>.*?)^ *```$/gms;

/** All blocks of code of the documents. Decisions and the log of changes tell of the past, so their blocks may be out of date. */
export function documentBlocks(): CodeBlock[] {
  const documents = projectFiles().filter((path) => path.endsWith(".md"));
  return documents
    .filter((path) => !/^(?:docs\/(?:decisions|zh)\/|\.changeset\/)|CHANGELOG\.md$/.test(path))
    .flatMap((path) => blocksOf(read(path), path));
}

export function blocksOf(text: string, path: string): CodeBlock[] {
  return [...text.matchAll(BLOCK)].map((match) => {
    const { mark, indent = "", info = "", code = "" } = match.groups ?? {};
    const [language = "", ...marks] = info.trim().split(/\s+/);
    const opening = text.slice(0, match.index).split("\n").length + (mark === undefined ? 0 : 1);
    return {
      path,
      line: opening + 1,
      language,
      isFragment: marks.includes("fragment"),
      isQuoted: mark !== undefined,
      code: code.replace(new RegExp(`^${indent}`, "gm"), ""),
    };
  });
}

export const isScript = ({ language }: CodeBlock) => language === "ts" || language === "js";

/** The quoted ones are compared with their files, which have tests of their own. */
export const isOwn = ({ isFragment, isQuoted }: CodeBlock) => !isFragment && !isQuoted;
