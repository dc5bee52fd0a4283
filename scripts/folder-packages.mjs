// @ts-check
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "./run-command.mjs";
import { packagesState } from "./setup.mjs";
import { root } from "./tiers.mjs";

/**
 * Installs the npm packages of a folder that has a lockfile of its own, where they are missing or stale, and says so first.
 *
 * @param {string} name of the folder, from the root
 * @returns {Promise<boolean>} false where they can not be had
 */
export async function provideFolderPackages(name) {
  const folder = join(root, name);
  const wanted = readJson(join(folder, "package-lock.json"));
  const installed = readJson(join(folder, "node_modules/.package-lock.json"));
  const state = packagesState(wanted, installed, (path) => existsSync(join(folder, path)));
  if (state === "ready") return true;
  const mayInstall = process.env["HOLDFAST_NO_INSTALL"] !== "1";
  console.error(
    `The npm packages of ${name}/ are ${state}. ${mayInstall ? "Installing them" : "Type"}: npm ci --prefix ${name}`,
  );
  if (!mayInstall) return false;
  const { ok } = await runCommand("npm", ["ci", "--loglevel=error"], { cwd: folder });
  return ok;
}

/** @param {string} file */
function readJson(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
}
