// @ts-check
/**
 * Measures holdfast beside others: builds it, installs the packages of bench/, and runs bench/main.mjs, which says what
 * the arguments mean. A quick run checks the types of bench/ as well: those of the root do without its packages.
 *
 *   HOLDFAST_NO_INSTALL=1   installs nothing: says what is missing and stops
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "./build.mjs";
import { runCommand } from "./run-command.mjs";
import { packagesState } from "./setup.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = join(root, "bench");
const compiler = join(root, "node_modules/typescript/bin/tsc");
const args = process.argv.slice(2);

process.exitCode = (await run()) ? 0 : 1;

async function run() {
  if (!(await build({ packageOnly: true })) || !(await providePackages())) return false;
  if (args.includes("--quick")) {
    const types = await runCommand(process.execPath, [compiler, "-p", folder]);
    if (!types.ok) return false;
  }
  const { ok } = await runCommand(process.execPath, [join(folder, "main.mjs"), ...args]);
  return ok;
}

async function providePackages() {
  const wanted = readJson("package-lock.json");
  const state = packagesState(wanted, readJson("node_modules/.package-lock.json"), (path) =>
    existsSync(join(folder, path)),
  );
  if (state === "ready") return true;
  console.error(
    `The npm packages of bench/ are ${state}. ${mayInstall() ? "Installing them" : "Type"}: npm ci --prefix bench`,
  );
  if (!mayInstall()) return false;
  const { ok } = await runCommand("npm", ["ci", "--loglevel=error"], { cwd: folder });
  return ok;
}

function mayInstall() {
  return process.env["HOLDFAST_NO_INSTALL"] !== "1";
}

/** @param {string} file */
function readJson(file) {
  const path = join(folder, file);
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
}
