// @ts-check
/**
 * Measures holdfast beside others: builds it, installs the packages of bench/, and runs bench/main.mjs. A quick run checks the
 * types of bench/ as well: those of the root do without its packages.
 *
 *   --help                  says what can be asked for, at once
 *   HOLDFAST_NO_INSTALL=1   installs nothing: says what is missing and stops
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { usage } from "../bench/support/usage.mjs";
import { build } from "./build.mjs";
import { installedNode, withNode } from "./node-releases.mjs";
import { runCommand } from "./run-command.mjs";
import { packagesState } from "./setup.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = join(root, "bench");
const compiler = join(root, "node_modules/typescript/bin/tsc");
const args = process.argv.slice(2);

if (args.includes("--help") || args.includes("-h")) {
  console.log(usage([["--node N", "on this release of Node, in place of the one at hand"]]));
} else {
  process.exitCode = (await run()) ? 0 : 1;
}

async function run() {
  const release = taken("--node");
  if (!(await build({ packageOnly: true })) || !(await providePackages())) return false;
  if (args.includes("--quick")) {
    const types = await runCommand(process.execPath, [compiler, "-p", folder]);
    if (!types.ok) return false;
  }
  const node = release === undefined ? process.execPath : await installedNode(Number(release));
  const { ok } = await runCommand(node, [join(folder, "main.mjs"), ...args], { env: withNode(node) });
  return ok;
}

/**
 * Takes an option with a value out of the arguments, which are for bench/main.mjs otherwise.
 *
 * @param {string} option
 */
function taken(option) {
  const at = args.indexOf(option);
  if (at < 0) return undefined;
  const [, value] = args.splice(at, 2);
  if (value === undefined || !/^\d+$/.test(value))
    throw new RangeError(`${option} needs a number, got ${value}`);
  return value;
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
