import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type Section, sections } from "./order.js";

export interface SidebarEntry {
  readonly text: string;
  readonly link?: string;
  readonly items?: SidebarEntry[];
  readonly collapsed?: boolean;
}

/** Where the reference of the declarations is generated, from the root. */
export const API = "build/site/api";
/** Not in docs/, and pages nevertheless. */
const OTHERS: Readonly<Record<string, string>> = {
  "README.md": "readme.md",
  "SKILL.md": "skill.md",
  "site/index.md": "index.md",
  "site/zh/index.md": "zh/index.md",
  "docs/zh/README.md": "zh/readme.md",
};

/**
 * Where a file stands on the site: `guide/leases.md` for `docs/guide/leases.md`.
 *
 * @param file from the root, with forward slashes
 * @returns undefined for a file without a page
 */
export function pageOf(file: string): string | undefined {
  const other = OTHERS[file];
  if (other !== undefined) return other;
  const [, below] = /^(?:docs|build\/site(?=\/api\/))\/(.+\.md)$/.exec(file) ?? [];
  return below?.replace(/(?<=^|\/)README\.md$/, "index.md");
}

/** The folder names of the API, which stand for subpaths of the package, in the order of `exports` in package.json. */
export function subpathsOf(root: string): string[] {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { exports: object };
  const subpaths = Object.keys(exports).filter((subpath) => subpath !== "./package.json");
  return subpaths.map((subpath) => subpath.replace(/^\./, "holdfast"));
}

/**
 * The sections of docs/, or of its translation.
 *
 * @param root of the repository
 * @param language a folder of docs/
 */
export function sidebarOf(root: string, language?: "zh"): SidebarEntry[] {
  const docs = join(root, "docs", language ?? "");
  const known = new Set(sections.map(({ folder }) => folder));
  const unknown = foldersWithPages(docs).filter((folder) => !known.has(folder));
  if (unknown.length > 0)
    throw new Error(`site/order.ts has no section for the folder ${unknown.join(", ")}`);
  return sections.flatMap((section) => {
    const items = entriesOf(docs, section, language === undefined);
    if (items.length === 0) return [];
    const text = section[language ?? "title"];
    return [{ text, items, collapsed: section.isCollapsed ?? false }];
  });
}

/** The pages that are in no folder of docs/, or of its translation, such as a glossary. */
export function pagesAtTop(root: string, language?: "zh"): SidebarEntry[] {
  const docs = join(root, "docs", language ?? "");
  const names = pagesIn(docs).filter((name) => name !== "README");
  return names.map((name) => entryOf(docs, `${name}.md`));
}

function entriesOf(docs: string, { folder, pages }: Section, isComplete: boolean): SidebarEntry[] {
  const names = pagesIn(join(docs, folder));
  const missing = pages.filter((page) => !names.includes(page));
  if (isComplete && missing.length > 0)
    throw new Error(`site/order.ts names pages that are not in docs/${folder}: ${missing.join(", ")}`);
  const listed = pages.filter((page) => names.includes(page));
  const others = names.filter((name) => !pages.includes(name));
  return [...listed, ...others].map((name) => entryOf(docs, `${folder}/${name}.md`));
}

function entryOf(docs: string, file: string): SidebarEntry {
  const below = basename(docs) === "zh" ? `docs/zh/${file}` : `docs/${file}`;
  return { text: titleOf(join(docs, file)), link: linkTo(pageOf(below) ?? "") };
}

/**
 * The sidebars of the API: for each subpath of the package its own declarations, and links to the others. One sidebar with all declarations
 * would be in each of their pages, and most of it.
 */
export function apiSidebarsOf(root: string): Record<string, SidebarEntry[]> {
  const subpaths = subpathsOf(root);
  const sidebarFor = (open?: string) =>
    subpaths.map((subpath) => ({
      text: subpath,
      link: linkTo(`api/${subpath}/index.md`),
      ...(subpath === open ? { items: groupsOf(root, subpath, subpaths) } : {}),
    }));
  const own = subpaths.map((subpath) => [linkTo(`api/${subpath}/index.md`), sidebarFor(subpath)]);
  return { "/api/": sidebarFor(), ...Object.fromEntries(own) };
}

/** A group for each sort of declaration. The folder of `holdfast` has those of the other subpaths in it. */
function groupsOf(root: string, subpath: string, subpaths: readonly string[]): SidebarEntry[] {
  const folder = join(root, API, subpath);
  const groups = foldersWithPages(folder).filter(
    (name) => !name.includes("/") && !subpaths.includes(`${subpath}/${name}`),
  );
  return groups.map((group) => ({
    text: wordsOf(group),
    collapsed: true,
    items: pagesIn(join(folder, group)).map((name) => ({
      text: name,
      link: linkTo(`api/${subpath}/${group}/${name}.md`),
    })),
  }));
}

/** "type-aliases" → "Type aliases" */
function wordsOf(folder: string): string {
  return `${folder.charAt(0).toUpperCase()}${folder.slice(1)}`.replace("-", " ");
}

/** "guide/leases.md" → "/guide/leases", "migrate/index.md" → "/migrate/" */
export function linkTo(page: string): string {
  return `/${page.replace(/(?:(?<=^|\/)index)?\.md$/, "")}`;
}

/** The first heading, without marks. */
export function titleOf(file: string): string {
  const [, title] = /^# (.+)$/m.exec(readFileSync(file, "utf8")) ?? [];
  if (title === undefined) throw new Error(`${file} has no heading`);
  return title.replace(/[`*]/g, "");
}

function pagesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith(".md"));
  return names.map((name) => basename(name, ".md")).sort();
}

/** Below `folder`, without the translations. */
function foldersWithPages(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const folders = files.filter((file) => file.endsWith(".md")).map((file) => dirname(file));
  return [...new Set(folders)].filter((name) => !/^(?:\.|zh)(?:\/|$)/.test(name)).sort();
}
