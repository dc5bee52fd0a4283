// @ts-check
/** Folders in which programs find the package of another version, as packed: that of an earlier commit, and that of the working tree. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { mustRun, runCommand } from "./run-command.mjs";
import { root } from "./tiers.mjs";

const cache = join(root, "node_modules/.cache/holdfast-neighbours");
/** Before the first release: the last commit before clients queued for a plain lock, which has changed the most on the wire. */
const beforeReleases = "e09d4f0f66a0edbd091b0a7c5488aaecfadc90fc";

/**
 * @param {string} [given] a tag or a commit. Default: the last tag of a version, or the commit that stands for one
 * @returns {Promise<string | undefined>} the whole name of the commit; undefined where the history does not have it
 */
export async function neighbourCommit(given) {
  const ref =
    given ?? (await git(["describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"])) ?? beforeReleases;
  return git(["rev-parse", "--verify", "--quiet", `${ref}^{commit}`]);
}

/** @param {readonly string[]} args */
async function git(args) {
  const { ok, output } = await runCommand("git", args, { cwd: root, quiet: true });
  return ok ? output.trim() : undefined;
}

/**
 * Packs that commit, with the tools of the working tree, unless it has been.
 *
 * @param {string} commit
 * @returns {Promise<string>} the path of the tarball
 */
export async function packCommit(commit) {
  const kept = join(cache, `${commit}.tgz`);
  if (existsSync(kept)) return kept;
  const folder = mkdtempSync(join(tmpdir(), "holdfast-neighbour-"));
  try {
    const archive = join(folder, "tree.tar");
    await mustRun("git", ["archive", "--output", archive, commit], { cwd: root });
    const tree = join(folder, "tree");
    mkdirSync(tree);
    await mustRun("tar", ["-xf", archive, "-C", tree]);
    linkTools(tree);
    mkdirSync(cache, { recursive: true });
    renameSync(await packTree(tree, cache), kept);
    return kept;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * A folder of links, so that what a build notes beside the tools is not the working tree's.
 *
 * @param {string} tree
 */
function linkTools(tree) {
  const target = join(tree, "node_modules");
  mkdirSync(target);
  for (const name of readdirSync(join(root, "node_modules"))) {
    if (name !== ".cache" && !name.startsWith("holdfast"))
      symlinkSync(join(root, "node_modules", name), join(target, name));
  }
}

/**
 * Commits before the package was bundled have no script that packs the built package alone, and `npm pack` does.
 *
 * @param {string} tree
 * @param {string} folder gets the tarball
 * @returns {Promise<string>} the path of the tarball
 */
async function packTree(tree, folder) {
  const { scripts } = JSON.parse(readFileSync(join(tree, "package.json"), "utf8"));
  const packing =
    scripts.tarballs === undefined
      ? ["pack", "--silent", "--pack-destination", folder]
      : ["run", "--silent", "tarballs", "--", "--only", ".", folder];
  const file = (await mustRun("npm", packing, { cwd: tree })).trim().split("\n").at(-1) ?? "";
  return join(folder, basename(file));
}

/**
 * Packs the working tree, built where it is stale.
 *
 * @param {string} folder gets the tarball
 */
export function packHere(folder) {
  return packTree(root, folder);
}

/**
 * Installs a tarball for the child programs of the tests, as they were built last. Their Redis client is that of the working tree.
 *
 * @param {string} tarball
 * @param {string} folder gets them
 */
export async function installFor(tarball, folder) {
  const installed = join(folder, "node_modules/holdfast");
  mkdirSync(installed, { recursive: true });
  await mustRun("tar", ["-xzf", tarball, "-C", installed, "--strip-components=1"]);
  symlinkSync(join(root, "node_modules/ioredis"), join(folder, "node_modules/ioredis"));
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
  cpSync(join(root, "build/test/support"), join(folder, "support"), { recursive: true });
}
