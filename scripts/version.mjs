// @ts-check
/**
 * Makes the next version of the files in .changeset/: in the manifests, in CHANGELOG.md, in src/version.ts, in the README and in the lockfile.
 * Needs Node 22.11 or later.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { provideFolderPackages } from "./folder-packages.mjs";
import { mustRun, runCommand } from "./run-command.mjs";
import { root } from "./tiers.mjs";

const manifestFile = join(root, "package.json");

/**
 * Changesets knows the packages that `workspaces` names. npm does not want the root among them, so it stands there only meanwhile.
 *
 * @returns {Promise<boolean>}
 */
async function changeVersions() {
  const before = JSON.parse(readFileSync(manifestFile, "utf8"));
  write(manifestFile, { ...before, workspaces: [".", ...before.workspaces] });
  try {
    const changeset = join(root, ".changeset/node_modules/.bin/changeset");
    return (await runCommand(changeset, ["version"], { cwd: root })).ok;
  } finally {
    const after = JSON.parse(readFileSync(manifestFile, "utf8"));
    write(manifestFile, { ...after, workspaces: before.workspaces });
  }
}

/**
 * @param {string} file
 * @param {unknown} value
 */
function write(file, value) {
  writeFileSync(file, `${JSON.stringify(value, undefined, 2)}\n`);
}

/**
 * @param {string} name of a file, from the root
 * @param {RegExp} place
 * @param {string} next
 */
function replaceIn(name, place, next) {
  const file = join(root, name);
  const text = readFileSync(file, "utf8");
  if (!place.test(text)) throw new Error(`${name} has no ${place}`);
  writeFileSync(file, text.replace(place, next));
}

const ok = (await provideFolderPackages(".changeset")) && (await changeVersions());
if (ok) {
  const { version } = JSON.parse(readFileSync(manifestFile, "utf8"));
  replaceIn("src/version.ts", /VERSION = "[^"]*"/, `VERSION = "${version}"`);
  for (const page of ["README.md", "docs/zh/README.md"])
    replaceIn(page, /holdfast-\d[^ ]*?\.tgz/, `holdfast-${version}.tgz`);
  await mustRun("npm", ["install", "--package-lock-only", "--no-audit", "--no-fund"], { cwd: root });
  console.log(`The version is ${version}. Read CHANGELOG.md before you commit it.`);
} else process.exitCode = 1;
