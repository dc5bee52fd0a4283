// @ts-check
/**
 * Makes the tarballs that are published, of holdfast and of the packages that stand on it: builds, and packs a folder that has the built
 * files, the licence, a manifest without what only this repository needs, and a README whose links lead to the repository at the tag of the
 * version.
 *
 *   node scripts/pack.mjs [FOLDER]   into FOLDER, else build/tarballs
 *   node scripts/pack.mjs --only .   only the package in that folder; may be repeated
 *   node scripts/pack.mjs --bills    writes the bill of materials of each package beside its tarball
 *
 * Prints the tarballs in the order in which they are published: a package after those that it depends on.
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
import { parseArgs } from "node:util";
import { billOfMaterials } from "./bill-of-materials.mjs";
import { build, buildCommandLine, buildNest } from "./build.mjs";
import { mustRun } from "./run-command.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
/** Folders. A package comes after those that it depends on. */
export const packages = [
  ".",
  ...readdirSync(join(root, "packages"))
    .sort()
    .map((name) => `packages/${name}`),
];
/** Of a manifest: what is of no use once the package is built. */
const ONLY_HERE = ["devDependencies", "scripts", "workspaces"];

/** A page that is named as from the root of the repository. */
const PAGE = /(?<![\w/.-])docs\/[\w/-]+\.md/g;

/**
 * Builds what is stale, and packs it.
 *
 * @param {string} destination a folder
 * @param {readonly string[]} [chosen] of `packages`
 * @returns {Promise<string[]>} the paths of the tarballs
 */
export async function pack(destination, chosen = packages) {
  mkdirSync(destination, { recursive: true });
  const tarballs = [];
  for (const folder of chosen) {
    if (!(await buildOf(folder)())) throw new Error(`the build of ${folder} failed`);
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

/** @param {string} folder */
function buildOf(folder) {
  if (folder === ".") return () => build({ packageOnly: true });
  if (folder === "packages/cli") return buildCommandLine;
  if (folder === "packages/nestjs") return buildNest;
  throw new TypeError(`one of ${packages.join(", ")}, got ${folder}`);
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
    if (statSync(path).isFile()) writeFileSync(path, withAddresses(readFileSync(path, "utf8"), folder, base));
  }
}

/**
 * Source maps are not published, and comments and messages name pages of the repository. The command line makes addresses of its pages itself.
 *
 * @param {string} text
 * @param {string} folder of its package
 * @param {Repository} base
 */
export function withAddresses(text, folder, { pages }) {
  const code = text.replace(/\n\/\/# sourceMappingURL=.*\n?$/, "\n");
  return folder === "packages/cli" ? code : code.replace(PAGE, (page) => `${pages}${page}`);
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

/**
 * @param {string} destination a folder
 * @param {readonly string[]} folders of packages
 * @param {readonly string[]} tarballs of these
 */
async function writeBills(destination, folders, tarballs) {
  for (const [nth, folder] of folders.entries()) {
    const { name, dependencies } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
    const earlier = dependencies === undefined ? [] : tarballs.slice(0, nth);
    const bill = await billOfMaterials(
      name,
      resolve(tarballs[nth] ?? ""),
      earlier.map((file) => resolve(file)),
    );
    writeFileSync(join(destination, `${name}.cdx.json`), bill);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values, positionals } = parseArgs({
    options: {
      bills: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: packages },
    },
    allowPositionals: true,
  });
  const ours = join(root, "build/tarballs");
  const folder = positionals[0] ?? ours;
  if (folder === ours) rmSync(ours, { recursive: true, force: true });
  const tarballs = await pack(folder, values.only);
  if (values.bills) await writeBills(folder, values.only, tarballs);
  for (const tarball of tarballs) console.log(tarball);
}
