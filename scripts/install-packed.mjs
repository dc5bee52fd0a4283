// @ts-check
/**
 * Builds and packs holdfast and its package for Nest, and installs them in a folder that has packages of its own, as its users do. By links
 * they would find the Nest of this repository, and an application would have two.
 *
 *   node ../../scripts/install-packed.mjs   installs them in the folder where it is called
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pack } from "./pack.mjs";
import { mustRun } from "./run-command.mjs";

/** @param {string} folder */
export async function installPacked(folder) {
  const tarballs = mkdtempSync(join(tmpdir(), "holdfast-packed-"));
  try {
    const files = await pack(tarballs, [".", "packages/nestjs"]);
    const installing = ["install", "--no-save", "--prefer-offline", "--no-audit", "--no-fund", ...files];
    await mustRun("npm", installing, { cwd: folder });
  } finally {
    rmSync(tarballs, { recursive: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await installPacked(process.cwd());
