import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TidyRule } from "./rule.js";
import { root } from "./tree.js";

/** Phrases that a reader parses twice, with the plain form. */
const HARD_PHRASES: readonly (readonly [phrase: RegExp, instead: string])[] = [
  [/\bto be had\b|\b(?:is|are|was|were|can be) had\b/gi, "say acquired, held or available"],
  [/\b(?:the )?one that\b/gi, "repeat the noun"],
  [/\bwhat (?:is|are|was|were|has|have)\b(?![^.?!]*\?)/gi, "name the thing"],
  [/\b(?:whoever|whom|nobody|(?:those|one|all|ones) who)\b/gi, "name the client, call or waiter"],
  [/(?<!there )\b(?:is|are|was) no (?!longer\b|more\b)\w+/gi, "say is not a"],
  [
    /\bbe (?:it|they)\b|\ball the same\b|\bin the midst\b|\bfor want of\b/gi,
    "say even if, anyway, during, without",
  ],
  [/\banew\b/gi, "say again, or the verb with re-"],
  [/\bbecomes? of\b|\bcome to its end\b/gi, "say what happens, or ended"],
  [/\bin place of\b/gi, "say instead of"],
];

const LONGEST_SENTENCE = 60;

/** The number of findings that a file may still have. It only shrinks: lower it after you have rewritten some. */
const recorded: Readonly<Record<string, number>> = JSON.parse(
  readFileSync(join(root, "test/recorded/hard-phrases.json"), "utf8"),
);

/** Not judged: test titles are quoted in the track record; decisions and the changelog are history. */
const NOT_JUDGED =
  /^docs\/(?:zh|decisions)\/|^docs\/internals\/track-record\.md$|^(?:CHANGELOG\.md|demo|examples|site|test|bench|src\/inspector\/assets\.ts|src\/protocol\/(?:later-)?scripts\.ts|page\/src\/words\/zh\.ts)\b|\/test\//;

const saysItPlainly: TidyRule = {
  promise: "documents, comments and messages have no more hard phrases than are recorded",
  applies: (path) =>
    !NOT_JUDGED.test(path) && (path.endsWith(".md") || /^(?:src|page|packages)\/.*\.tsx?$/.test(path)),
  problems: (text, path) => {
    const found = hardPhrases(text, path.endsWith(".md"));
    const most = recorded[path] ?? 0;
    if (found.length <= most) return [];
    return [`${found.length} hard phrases, ${most} recorded`, ...found];
  },
  offences: [
    { path: "docs/a.md", text: "The lock is to be had again." },
    { path: "docs/a.md", text: "It wakes the one that waits." },
    { path: "docs/a.md", text: "It says what is stored." },
    { path: "docs/a.md", text: `It ${"says and ".repeat(LONGEST_SENTENCE)}ends.` },
    { path: "src/a.ts", text: "/** Told to those who wait. */" },
    { path: "src/a.ts", text: "// The queue is written anew." },
    { path: "src/a.ts", text: 'throw new TypeError("the key is no lock");' },
    { path: "packages/cli/src/a.ts", text: "const told = `$" + "{name} is freed all the same`;" },
  ],
};

function hardPhrases(text: string, isDocument: boolean): string[] {
  const prose = isDocument ? documentProse(text) : sourceProse(text);
  const phrases = prose.flatMap(({ line, words }) =>
    HARD_PHRASES.flatMap(([phrase, instead]) =>
      [...words.matchAll(phrase)].map(([found]) => `line ${line}: "${found}": ${instead}`),
    ),
  );
  const long = prose.flatMap(({ line, words }) =>
    words
      .split(/[.!?:;]\s/)
      .map((sentence) => sentence.split(/\s+/).length)
      .filter((length) => length > LONGEST_SENTENCE)
      .map((length) => `line ${line}: a sentence of ${length} words: split it`),
  );
  return [...phrases, ...long];
}

interface Passage {
  readonly line: number;
  readonly words: string;
}

/** Paragraphs, list items and cells of tables, without code. */
function documentProse(text: string): Passage[] {
  const plain = text
    .replace(/^```[\s\S]*?^```/gm, (code) => code.replace(/[^\n]/g, ""))
    .replace(/`[^`\n]*`/g, "X")
    .replace(/^\s*\|.*$/gm, (row) => row.replaceAll("|", ". "));
  const found: Passage[] = [];
  let at = 0;
  for (const words of plain.split(/(\n\s*\n|\n(?=\s*(?:[-*]|\d+\.|\.) ))/)) {
    if (/\w/.test(words)) found.push({ line: lineAt(plain, at), words });
    at += words.length;
  }
  return found;
}

/** Comments, and texts of several words. */
function sourceProse(text: string): Passage[] {
  const found: Passage[] = [];
  const withoutComments = text.replace(/\/\*[\s\S]*?\*\/|(?<![:"'`\w])\/\/.*$/gm, (comment, at: number) => {
    const words = comment.replace(/^\s*(?:\/\*\*?|\*\/|\*|\/\/)|\*\/$/gm, "").replace(/`[^`\n]*`/g, "X");
    found.push({ line: lineAt(text, at), words });
    return comment.replace(/[^\n]/g, " ");
  });
  for (const match of withoutComments.matchAll(/"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g))
    if (/[a-z]\S* \S+ [a-z]/i.test(match[0]))
      found.push({ line: lineAt(text, match.index), words: match[0].replace(/\$\{[^}]*\}/g, "X") });
  return found;
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}

export const proseRules: readonly TidyRule[] = [saysItPlainly];
