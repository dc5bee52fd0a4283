// @ts-check
/**
 * Makes the tarballs that are published, of holdfast and of the packages that stand on it: builds, and packs a folder that has the built
 * files, the licence, a manifest without what only this repository needs, and a README whose links lead to the repository at the tag of the
 * version.
 *
 *   node scripts/pack.mjs [FOLDER]   into FOLDER, else build/tarballs
 */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, posix, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { buildCommandLine, buildNest } from "./build.mjs";
import { mustRun } from "./run-command.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
export const packages = [".", ...readdirSync(join(root, "packages")).map((name) => `packages/${name}`)];
/** Of a manifest: what is of no use once the package is built. */
const ONLY_HERE = ["devDependencies", "scripts", "workspaces"];

/**
 * @param {string} destination a folder
 * @param {readonly string[]} [chosen] folders of packages; they have to be built
 * @returns {Promise<string[]>} the tarballs
 */
export async function packBuilt(destination, chosen = packages) {
  mkdirSync(destination, { recursive: true });
  const tarballs = [];
  for (const folder of chosen) {
    const staged = mkdtempSync(join(tmpdir(), "holdfast-pack-"));
    try {
      stage(folder, staged);
      const packing = ["pack", "--json", "--ignore-scripts", "--pack-destination", resolve(destination)];
      const [{ filename }] = JSON.parse(await mustRun("npm", packing, { cwd: staged }));
      tarballs.push(join(destination, filename));
    } finally {
      rmSync(staged, { recursive: true });
    }
  }
  return tarballs;
}

/**
 * @param {string} destination a folder
 * @returns {Promise<string[]>} the tarballs of all packages, built where they are stale
 */
export async function pack(destination) {
  if (!(await buildCommandLine()) || !(await buildNest())) throw new Error("the build failed");
  return packBuilt(destination);
}

/**
 * @param {string} folder of a package
 * @param {string} staged an empty folder
 */
function stage(folder, staged) {
  const from = join(root, folder);
  const manifest = JSON.parse(readFileSync(join(from, "package.json"), "utf8"));
  const published = Object.entries(manifest).filter(([field]) => !ONLY_HERE.includes(field));
  writeFileSync(join(staged, "package.json"), `${JSON.stringify(Object.fromEntries(published), null, 2)}\n`);
  const base = repositoryAt(manifest);
  const readme = readFileSync(join(from, "README.md"), "utf8");
  writeFileSync(join(staged, "README.md"), withAbsoluteLinks(readme, folder, base));
  cpSync(join(root, "LICENSE"), join(staged, "LICENSE"));
  const isPublished = (/** @type {string} */ path) => !path.endsWith(".map");
  cpSync(join(from, "dist"), join(staged, "dist"), { recursive: true, filter: isPublished });
  for (const file of readdirSync(join(staged, "dist"), { recursive: true, encoding: "utf8" })) {
    const path = join(staged, "dist", file);
    if (statSync(path).isFile()) writeFileSync(path, withoutMaps(readFileSync(path, "utf8"), base));
  }
}

/**
 * Nothing leads to a source map, which is not published, or to a page of the repository as if it were here.
 *
 * @param {string} text
 * @param {Repository} base
 */
function withoutMaps(text, { pages }) {
  return text
    .replace(/\n\/\/# sourceMappingURL=.*\n?$/, "\n")
    .replace(/(?<=@see |; see )docs\/[\w/.-]+\.md/g, (page) => `${pages}${page}`);
}

/** @typedef {{ pages: string, files: string }} Repository addresses at the tag of a version: for reading, and of the bare file */

/**
 * @param {{ version: string, repository: { url: string } }} manifest
 * @returns {Repository}
 */
export function repositoryAt({ version, repository }) {
  const name = /github\.com\/(.+)\.git$/.exec(repository.url)?.[1];
  if (name === undefined) throw new Error(`no repository on GitHub: ${repository.url}`);
  return {
    pages: `https://github.com/${name}/blob/v${version}/`,
    files: `https://raw.githubusercontent.com/${name}/v${version}/`,
  };
}

/**
 * @param {string} markdown
 * @param {string} folder where it stands in the repository
 * @param {Repository} base
 */
export function withAbsoluteLinks(markdown, folder, { pages, files }) {
  const absolute = (/** @type {string} */ link, /** @type {string} */ base) =>
    /^(?:[a-z]+:|#)/.test(link) ? link : `${base}${posix.join(folder, link)}`;
  return markdown
    .replace(/\]\(([^)\s]+)\)/g, (_, link) => `](${absolute(link, pages)})`)
    .replace(
      /(<(?:img|source)\b[^>]*?\bsrc(?:set)?=")([^"]+)"/g,
      (_, start, link) => `${start}${absolute(link, files)}"`,
    );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = process.argv[2] ?? join(root, "build/tarballs");
  rmSync(join(root, "build/tarballs"), { recursive: true, force: true });
  for (const tarball of await pack(folder)) console.log(tarball);
}
