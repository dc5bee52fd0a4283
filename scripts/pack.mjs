// @ts-check
/**
 * Packs all packages of this repository into a folder, with the bill of materials of each, as they are published:
 *
 *   node scripts/pack.mjs tarballs
 *
 * Prints the tarballs in the order in which they are to be published: a package after those that it depends on.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { mustRun } from "./run-command.mjs";
import { root } from "./tiers.mjs";

/** Their arguments for npm, by their names. */
export const published = {
  holdfast: [],
  "holdfast-cli": ["--workspace", "packages/cli"],
  "holdfast-nestjs": ["--workspace", "packages/nestjs"],
};

/**
 * @param {string} folder
 * @returns {Promise<string[]>} the paths of the tarballs
 */
export async function packAll(folder) {
  mkdirSync(folder, { recursive: true });
  const tarballs = [];
  for (const [name, chosen] of Object.entries(published)) {
    const packing = ["pack", "--silent", "--pack-destination", folder, ...chosen];
    const file = (await mustRun("npm", packing, { cwd: root })).trim().split("\n").at(-1);
    const tarball = join(folder, `${file}`);
    writeFileSync(join(folder, `${name}.cdx.json`), await billOfMaterials(name, tarball, tarballs));
    tarballs.push(tarball);
  }
  return tarballs;
}

/**
 * Of what an installation brings, without peers: in this repository npm would tell what the tests need as well.
 *
 * @param {string} name
 * @param {string} tarball
 * @param {readonly string[]} before those of our own that it may depend on
 */
async function billOfMaterials(name, tarball, before) {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bill-"));
  try {
    // npm calls the product as its folder.
    const product = join(folder, name);
    mkdirSync(product);
    await mustRun("tar", ["-xzf", tarball, "-C", product, "--strip-components=1", "package/package.json"]);
    const { devDependencies: _, scripts: __, workspaces: ___, ...manifest } = readJson(product);
    writeFileSync(join(product, "package.json"), JSON.stringify(manifest));
    const options = { cwd: product };
    const installing = [
      "install",
      "--no-save",
      "--legacy-peer-deps",
      "--prefer-offline",
      "--no-audit",
      "--no-fund",
    ];
    await mustRun("npm", [...installing, ...(manifest.dependencies === undefined ? [] : before)], options);
    const telling = [
      "sbom",
      "--sbom-format=cyclonedx",
      "--sbom-type=library",
      "--omit=peer",
      "--omit=optional",
    ];
    return await mustRun("npm", [...telling, "--legacy-peer-deps"], options);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @param {string} folder */
function readJson(folder) {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}

if (process.argv[1] === import.meta.filename) {
  const folder = process.argv[2];
  if (folder === undefined) {
    console.error("into which folder? node scripts/pack.mjs tarballs");
    process.exitCode = 2;
  } else for (const file of await packAll(resolve(folder))) console.log(file);
}
