import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { quotesFiles } from "./quoted-code.js";
import { complain, type TidyRule } from "./rule.js";
import { root } from "./tree.js";

const isDocument = (path: string) => path.endsWith(".md");

const linksResolve: TidyRule = {
  promise: "a relative link or picture in a document leads to a file, and its anchor to a heading",
  applies: isDocument,
  problems: (text, path) => relativeLinks(text).flatMap((link) => brokenLink(link, text, path)),
  offences: [
    "See [the guide](guide/no-such-page.md).",
    "See [the reason][1].\n\n[1]: decisions/999-none.md",
    "# A heading\n\nSee [below](#another-heading).",
    '<source srcset="docs/no-such-picture.svg">',
    '<img alt="A picture" src="no-such-picture.svg">',
  ].map((text) => ({ path: "docs/example.md", text })),
};

function relativeLinks(markdown: string): string[] {
  const prose = markdown.replace(/^```[\s\S]*?^```/gm, "").replace(/`[^`\n]*`/g, "");
  const inline = [...prose.matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g)];
  const references = [...prose.matchAll(/^\[[^\]]+\]:\s+(\S+)/gm)];
  const pictures = [...prose.matchAll(/<(?:img|source)\b[^>]*?\bsrc(?:set)?="([^"]+)"/g)];
  return [...inline, ...references, ...pictures].flatMap(([, link]) =>
    link && !/^[a-z]+:/.test(link) ? [link] : [],
  );
}

function brokenLink(link: string, text: string, path: string): string[] {
  const [file = "", anchor] = link.split("#");
  const target = file === "" ? undefined : join(root, dirname(path), decodeURI(file));
  if (target !== undefined && !existsSync(target)) return [`${link}: no such file`];
  if (anchor === undefined || (target !== undefined && !isDocument(target))) return [];
  const headings = anchorsOf(target === undefined ? text : readFileSync(target, "utf8"));
  return headings.has(anchor) ? [] : [`${link}: no such heading`];
}

/** Anchors as GitHub makes them from headings. */
function anchorsOf(markdown: string): Set<string> {
  const prose = markdown.replace(/^```[\s\S]*?^```/gm, "");
  const headings = [...prose.matchAll(/^#+\s+(.*)$/gm)].map(([, heading = ""]) => heading);
  const plain = headings.map((heading) =>
    heading
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, ""),
  );
  return new Set(plain.map((heading) => heading.replace(/\s/g, "-")));
}

/** As each page of a kind has them, so that a reader finds the same thing at the same place. */
const HEADINGS_OF_A_KIND = ["When to use it", "Example", "Details", "Errors", "See also"];

const pagesOfKinds: TidyRule = {
  promise: "each page of a kind of lock has the same headings",
  applies: (path) => path.startsWith("docs/guide/kinds/"),
  problems(text) {
    const headings = [...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
    return headings.join() === HEADINGS_OF_A_KIND.join() ? [] : [`has the headings ${headings.join(", ")}`];
  },
  offences: ["# A lock\n\n## Example\n\n## Details", "# A lock"].map((text) => ({
    path: "docs/guide/kinds/example.md",
    text,
  })),
};

const README_LINES = 180;
const GUIDE_LINES = 200;

const staysShort: TidyRule = {
  promise: `the README has at most ${README_LINES} lines, and a page of the guide ${GUIDE_LINES}`,
  applies: (path) => path === "README.md" || path.startsWith("docs/guide/"),
  problems(text, path) {
    const most = path === "README.md" ? README_LINES : GUIDE_LINES;
    const lines = text.replace(/\n$/, "").split("\n").length;
    return lines > most ? [`has ${lines} lines, and may have ${most}`] : [];
  },
  offences: [
    { path: "README.md", text: "A line.\n".repeat(README_LINES + 1) },
    { path: "docs/guide/kinds/example.md", text: "A line.\n".repeat(GUIDE_LINES + 1) },
  ],
};

const namesNoMachine: TidyRule = {
  promise: "no file names a folder of the machine that it was written on",
  applies: () => true,
  problems: (text) =>
    complain(
      text,
      /(?<![\w.:/*-])\/(?:home|root|Users|work|tmp)\/[\w.-]+/g,
      "use a relative path or os.tmpdir()",
    ),
  offences: [
    { path: "docs/a.md", text: "Run /home/ada/holdfast/scripts/setup.mjs" },
    { path: "test/a.test.ts", text: 'const socket = "/tmp/redis.sock";' },
  ],
};

/** One word for each idea. */
const OTHER_WORDS: Readonly<Record<string, string>> = {
  session: "client, lease or scope",
  agent: "client or process",
};

const usesOurWords: TidyRule = {
  promise: "one idea has one word, in code and documents",
  applies: (path) => /^(?:src|demo|bench|docs)\/|\.md$/.test(path),
  problems: (text) =>
    Object.entries(OTHER_WORDS).flatMap(([word, ours]) =>
      complain(text, new RegExp(`\\b${word}s?\\b`, "gi"), `say ${ours}`),
    ),
  offences: [
    { path: "docs/a.md", text: "A session holds the lock." },
    { path: "src/a.ts", text: "/** The agents that wait. */" },
  ],
};

const tablesAreWhole: TidyRule = {
  promise: "each row of a table is a line of its own, with as many cells as the header",
  applies: isDocument,
  problems(text) {
    const lines = text.replace(/^\s*```[\s\S]*?^\s*```/gm, "").split("\n");
    return lines.flatMap((line, at) => {
      const before = cellsOf(lines[at - 1] ?? "");
      const cells = cellsOf(line);
      if (before === 0 || line.trim() === "") return [];
      if (cells === 0) return [`${line.slice(0, 60)}: follows a table without an empty line`];
      return cells === before ? [] : [`${line.slice(0, 60)}: ${cells} cells after a row of ${before}`];
    });
  },
  offences: [
    "| a | b |\n| --- | --- |\n| 1 | a row that\ngoes on |",
    "| a | b |\n| --- | --- |\n| 1 2 |",
    "| a | b |\n| --- | --- |\n| 1 | 2 |\nA sentence.",
    "| a | b |\n| --- | --- |\n| 1 | 2",
    "| a | b |\n| --- | --- |\n| `x | y` | 2 |",
  ].map((text) => ({ path: "docs/example.md", text })),
};

/** Zero for a line that is no row. A bar separates cells in code too, unless a backslash precedes it. */
function cellsOf(line: string): number {
  if (!/^\s*\|/.test(line)) return 0;
  return line.replaceAll("\\|", "").split("|").length - 1;
}

export const documentRules: readonly TidyRule[] = [
  linksResolve,
  pagesOfKinds,
  staysShort,
  namesNoMachine,
  usesOurWords,
  tablesAreWhole,
  quotesFiles,
];
