import { existsSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path/posix";
import { pageOf } from "./pages.js";

export interface Repository {
  /** The folder. */
  readonly root: string;
  /** The address in a browser, without a slash at its end. */
  readonly url: string;
}

/**
 * Where a link of a document leads on the site: to a page, as `/guide/leases.md#freed-by-force`; for a file that has no page, to the repository.
 *
 * @param link as it stands in the document
 * @param file the document, from the root
 * @throws Error where the link leads nowhere
 */
export function resolveLink(link: string, file: string, { root, url }: Repository): string {
  if (/^(?:[a-z][a-z+.-]*:|[#/])/i.test(link)) return link;
  const [path = "", anchor] = link.split("#");
  const target = normalize(join(dirname(file), decodeURI(path))).replace(/\/$/, "");
  if (target.startsWith("..") || !existsSync(join(root, target)))
    throw new Error(`${file}: the link ${link} leads nowhere`);
  const suffix = anchor === undefined ? "" : `#${anchor}`;
  const isFolder = statSync(join(root, target)).isDirectory();
  const index = `${target}/README.md`;
  const page = pageOf(isFolder && existsSync(join(root, index)) ? index : target);
  if (page !== undefined) return `/${page}${suffix}`;
  return `${url}/${isFolder ? "tree" : "blob"}/main/${target}${suffix}`;
}

/** The anchors of headings as GitHub makes them, so that links into a page work there and on the site. */
export function anchorOf(heading: string): string {
  const plain = heading.trim().toLowerCase();
  return plain.replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-");
}

const PICTURE =
  /<picture>\s*<source[^>]*srcset="([^"]+)"[^>]*>\s*<img alt="([^"]*)" src="([^"]+)">\s*<\/picture>/g;

/**
 * A picture for light and dark. On GitHub the browser's setting chooses; the site has a switch of its own, so both pictures are on the
 * page, and the style shows one.
 */
export function withBothPictures(html: string): string {
  return html.replace(PICTURE, (_, dark: string, alt: string, light: string) =>
    [
      `<img class="only-light" loading="lazy" alt="${alt}" src="${nearby(light)}">`,
      `<img class="only-dark" loading="lazy" alt="${alt}" src="${nearby(dark)}">`,
    ].join("\n"),
  );
}

/** The bundler takes a path for that of a file only if it begins with a dot. */
function nearby(path: string): string {
  return path.startsWith(".") ? path : `./${path}`;
}
