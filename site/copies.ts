import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Repository, resolveLink } from "./links.js";
import { pageOf, type SidebarEntry, sidebarOf, subpathsOf } from "./pages.js";

export interface Built {
  readonly repository: Repository;
  /** The pages, from the root. */
  readonly files: readonly string[];
  /** Where the site was built. */
  readonly out: string;
  /** The path of the site on its server, with a slash at its end. */
  readonly base: string;
}

/** Writes a Markdown copy beside each page, and llms.txt, which lists them. */
export function writeCopies({ repository, files, out, base }: Built): void {
  for (const file of files) {
    const target = join(out, pageOf(file) ?? file);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, copyOf(readFileSync(join(repository.root, file), "utf8"), file, repository, base));
  }
  writeFileSync(join(out, "llms.txt"), listOf(repository.root, base));
}

const CODE = /^```[\s\S]*?^```|`[^`\n]*`/gm;
const LINKS = /(\]\(<?)([^)\s>]+)(?=>?(?:\s+"[^"]*")?\))|(\bsrc(?:set)?=")([^"]+)(?=")/g;

/** The document with links that work where the copy stands. */
export function copyOf(markdown: string, file: string, repository: Repository, base: string): string {
  const resolved = (prose: string) =>
    prose.replace(LINKS, (_, before = "", link = "", beforePicture = "", picture = "") => {
      const resolvedLink = resolveLink(link || picture, file, repository);
      const target = picture === "" ? resolvedLink : resolvedLink.replace("/blob/main/", "/raw/main/");
      return `${before}${beforePicture}${target.startsWith("/") ? `${base}${target.slice(1)}` : target}`;
    });
  let text = "";
  let at = 0;
  for (const code of markdown.matchAll(CODE)) {
    text += resolved(markdown.slice(at, code.index)) + code[0];
    at = code.index + code[0].length;
  }
  return text + resolved(markdown.slice(at));
}

/** As https://llmstxt.org describes it. */
export function listOf(root: string, base: string): string {
  const { description } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    description: string;
  };
  const line = (title: string, page: string) => `- [${title}](${base}${page})`;
  const start = [
    line("What holdfast is, guarantees and does not guarantee", "readme.md"),
    `${line("SKILL.md", "skill.md")}: how to use locks right, and the mistakes that people make`,
  ];
  const api = subpathsOf(root).map((subpath) => line(subpath, `api/${subpath}/index.md`));
  return [
    "# holdfast",
    `> ${description}`,
    "Each page of the site has a Markdown copy at its address with `.md` at the end.",
    `## Start\n\n${start.join("\n")}`,
    ...sidebarOf(root).map(({ text, items = [] }) => `## ${text}\n\n${items.map(itemOf).join("\n")}`),
    `## API\n\n${api.join("\n")}`,
  ].join("\n\n");

  function itemOf({ text, link = "" }: SidebarEntry): string {
    return line(text, `${link.slice(1)}${link.endsWith("/") ? "index" : ""}.md`);
  }
}
