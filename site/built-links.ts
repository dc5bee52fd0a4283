import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/**
 * Looks up each link of the built pages, with its anchor, and each picture, script and style.
 *
 * @param out the folder of the site
 * @param base its path on the server
 * @returns a line for each link that leads nowhere
 */
export function deadLinks(out: string, base: string): string[] {
  const files = readdirSync(out, { recursive: true, encoding: "utf8" });
  const pages = new Map(
    files.filter((file) => file.endsWith(".html")).map((file) => [file, partsOf(out, file)]),
  );
  return [...pages].flatMap(([page, { links }]) =>
    [...links].filter((link) => !leads(link, page)).map((link) => `${page}: ${link}`),
  );

  function leads(link: string, page: string): boolean {
    const { pathname, hash } = new URL(link, `http://site${base}${page}`);
    if (!pathname.startsWith(base)) return false;
    const file = fileAt(decodeURI(pathname.slice(base.length)));
    if (file === undefined) return false;
    const anchors = pages.get(file)?.anchors;
    return hash === "" || anchors === undefined || anchors.has(decodeURIComponent(hash.slice(1)));
  }

  /** As servers of static files find a page at an address without its ending. */
  function fileAt(path: string): string | undefined {
    const candidates = [path, `${path}.html`, join(path, "index.html")];
    return candidates.find((name) => existsSync(join(out, name)) && statSync(join(out, name)).isFile());
  }
}

function partsOf(out: string, file: string): { links: Set<string>; anchors: Set<string> } {
  const html = readFileSync(join(out, file), "utf8");
  const found = (pattern: RegExp) => [...html.matchAll(pattern)].map(([, text = ""]) => decoded(text));
  const links = found(/\s(?:href|src)="([^"]*)"/g).filter((link) => !/^(?:[a-z]+:|\/\/)/.test(link));
  return { links: new Set(links), anchors: new Set(found(/\sid="([^"]*)"/g)) };
}

function decoded(attribute: string): string {
  return attribute.replaceAll("&quot;", '"').replaceAll("&amp;", "&");
}
