// @ts-check
/**
 * Measures holdfast beside others: builds it, installs the packages of bench/, runs bench/main.mjs, and draws charts of its
 * results. A quick run checks the types of bench/ as well: those of the root do without its packages.
 *
 *   --help                  says what can be asked for, at once
 *   --record FILE           measures nothing: the results in FILE become the charts of the performance page
 *   --charts                measures nothing: draws the charts of the performance page anew from their recorded data
 *   HOLDFAST_NO_INSTALL=1   installs nothing: says what is missing and stops
 */
import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { readOptions } from "../bench/support/options.mjs";
import { usage } from "../bench/support/usage.mjs";
import { build, buildModules } from "./build.mjs";
import { provideFolderPackages } from "./folder-packages.mjs";
import { installedNode, withNode } from "./node-releases.mjs";
import { runCommand } from "./run-command.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = join(root, "bench");
const published = join(root, "docs/internals/charts");
const compiler = join(root, "node_modules/typescript/bin/tsc");
const args = process.argv.slice(2);

if (args.includes("--help") || args.includes("-h")) {
  console.log(
    usage([
      ["--node N", "on this release of Node, in place of the one at hand"],
      ["--record FILE", "measures nothing: the results in FILE become the charts of the performance page"],
      ["--charts", "measures nothing: draws the charts of the performance page anew from their data"],
    ]),
  );
} else if (args.includes("--charts")) {
  if (args.length > 1) throw new TypeError("--charts measures nothing, and takes no other option");
  const { drawRecorded } = await import("./charts/files.mjs");
  sayDrawn(await drawRecorded(published), published);
} else if (args.includes("--record")) {
  const [option, file, ...others] = args;
  if (option !== "--record" || file === undefined || others.length > 0) {
    throw new TypeError("--record measures nothing: it takes a file of results, and no other option");
  }
  const { publishCharts } = await import("./charts/files.mjs");
  sayDrawn(await publishCharts(file, published), published);
} else {
  process.exitCode = (await run()) ? 0 : 1;
}

async function run() {
  const release = taken("--node");
  const { results, quick } = readOptions(args);
  if (!(await build({ packageOnly: true })) || !(await buildModules())) return false;
  if (!(await provideFolderPackages("bench"))) return false;
  if (quick) {
    const types = await runCommand(process.execPath, [compiler, "-p", folder]);
    if (!types.ok) return false;
  }
  const node = release === undefined ? process.execPath : await installedNode(Number(release));
  const measuring = [join(folder, "main.mjs"), ...args, "--results", results];
  const { ok } = await runCommand(node, measuring, { env: withNode(node) });
  // What was measured before something failed is worth a look as well.
  if (existsSync(results)) {
    const charts = results.replace(/\.jsonl$|$/, "-charts");
    const { recordCharts } = await import("./charts/files.mjs");
    sayDrawn(await recordCharts(results, charts), charts);
  }
  return ok;
}

/**
 * @param {readonly string[]} names
 * @param {string} where
 */
function sayDrawn(names, where) {
  console.error(
    names.length === 0
      ? "No chart: what was measured is too little for any"
      : `Charts in ${relative(process.cwd(), where)}: ${names.join(", ")}`,
  );
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
