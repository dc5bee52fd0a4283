// @ts-check
/**
 * Builds and packs holdfast and its package for Nest, and installs them in a folder that has packages of its own, as its users do. By links
 * they would find the Nest of this repository, and an application would have two.
 *
 *   node ../../scripts/install-packed.mjs   installs them in the folder where it is called
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildNest } from "./build.mjs";
import { mustRun } from "./run-command.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

/**
 * What is built is packed.
 *
 * @param {string} folder
 */
export async function installPacked(folder) {
  const tarballs = mkdtempSync(join(tmpdir(), "holdfast-packed-"));
  try {
    const packing = ["pack", "--silent", "--ignore-scripts", "--pack-destination", tarballs];
    await mustRun("npm", packing, { cwd: root });
    await mustRun("npm", [...packing, "--workspace", "packages/nestjs"], { cwd: root });
    const files = readdirSync(tarballs).map((file) => join(tarballs, file));
    const installing = ["install", "--no-save", "--prefer-offline", "--no-audit", "--no-fund", ...files];
    await mustRun("npm", installing, { cwd: folder });
  } finally {
    rmSync(tarballs, { recursive: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (await buildNest()) await installPacked(process.cwd());
  else process.exitCode = 1;
}
