// @ts-check
/**
 * Plants defects, one after the other, into copies of the tree and runs the tests of `npm test` there until one is red. Such a
 * test has to be red once more when it is run alone, and green without the defect.
 *
 *   node scripts/test-defects.mjs                 all that scripts/planted-defects.mjs lists; fails when fewer than 18 are found
 *   node scripts/test-defects.mjs NAME...         these
 */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { buildSimulation } from "./build.mjs";
import { planted } from "./planted-defects.mjs";
import { runCommand } from "./run-command.mjs";
import { root } from "./tiers.mjs";

/** @typedef {import("./planted-defects.mjs").Planted} Planted */
/** @typedef {{ file: string, find: string, replace: string }} Edit */

const LEAST_FOUND = 18;
const LEFT_OUT = new Set([".git", "build", "dist", "node_modules", "target"]);
/** They know what is planted, and would be red for that alone. */
const KNOWING = ["test/simulation/defects/**", "test/lint.test.ts"];

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => planted.every((defect) => defect.name !== name));
if (unknown.length > 0) throw new Error(`there is no ${unknown.join(", ")}: see scripts/planted-defects.mjs`);
const wanted = planted.filter(({ name }) => chosen.length === 0 || chosen.includes(name));

if (!(await buildSimulation())) throw new Error("the simulator can not be built");
const simulator = join(root, "build/simulation/test/simulation/defects");
/** @type {{ defects: readonly { name: string, edits: readonly Edit[] }[] }} */
const { defects } = await import(pathToFileURL(join(simulator, "defects.js")).href);
/** @type {{ changedFiles(edits: readonly Edit[]): Map<string, string>, changedSources(edits: readonly Edit[]): Promise<ReadonlyMap<string, string>> }} */
const { changedFiles, changedSources } = await import(pathToFileURL(join(simulator, "variant.js")).href);

let found = 0;
for (const defect of wanted) {
  const startMs = performance.now();
  const red = await seenBy(defect);
  if (red !== undefined) found += 1;
  const seconds = Math.round((performance.now() - startMs) / 1_000);
  console.log(`${defect.name}: ${red === undefined ? "NOT FOUND" : `found by ${red}`} (${seconds} s)`);
}
console.log(`defects: ${found} of ${wanted.length} found`);
process.exitCode = found >= Math.min(LEAST_FOUND, wanted.length) ? 0 : 1;

/**
 * @param {Planted} defect
 * @returns {Promise<string | undefined>} the name of the test
 */
async function seenBy(defect) {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-defect-"));
  try {
    copyInto(folder);
    const edits = editsOf(defect);
    // A changed script, and what is generated from all of them.
    const changed = new Map([...changedFiles(edits), ...(await changedSources(edits))]);
    for (const [file, source] of changed) writeFileSync(join(folder, file), source);
    const red = (await firstRed(folder, defect.near)) ?? (await firstRed(folder, []));
    if (red === undefined) return undefined;
    const [file = ""] = red.split(" > ");
    if ((await firstRed(folder, [file])) === undefined) return undefined;
    for (const path of changed.keys()) cpSync(join(root, path), join(folder, path));
    return (await firstRed(folder, [file])) === undefined ? red : undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {Planted} defect
 * @returns {readonly Edit[]}
 */
function editsOf({ name, find, replace = "" }) {
  if (find !== undefined) return [{ file: fileWith(find), find, replace }];
  const edits = defects.find((defect) => defect.name === name)?.edits;
  if (edits === undefined) throw new Error(`test/simulation/defects has no ${name}`);
  return edits;
}

/** @param {string} text */
function fileWith(text) {
  const folder = "src/driver";
  const files = readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file, "utf8").includes(text));
  const [file = ""] = files;
  if (files.length !== 1) throw new Error(`${files.length} files of ${folder} have ${JSON.stringify(text)}`);
  return file.slice(root.length);
}

/** @param {string} folder */
function copyInto(folder) {
  cpSync(root, folder, {
    recursive: true,
    filter: (path) =>
      !path
        .slice(root.length)
        .split("/")
        .some((part) => LEFT_OUT.has(part)),
  });
  // Not the folder itself: it keeps what was built last.
  mkdirSync(join(folder, "node_modules"));
  for (const entry of readdirSync(join(root, "node_modules"))) {
    if (entry !== ".cache")
      symlinkSync(join(root, "node_modules", entry), join(folder, "node_modules", entry));
  }
}

/**
 * @param {string} folder
 * @param {readonly string[]} files
 * @returns {Promise<string | undefined>} `file > suite > test`
 */
async function firstRed(folder, files) {
  const vitest = join(folder, "node_modules/vitest/vitest.mjs");
  const { output } = await runCommand(
    process.execPath,
    [vitest, "run", "--project", "first*", "--bail=1", ...files],
    {
      cwd: folder,
      env: { ...process.env, NO_COLOR: "1", HOLDFAST_LEAVE_OUT: KNOWING.join(",") },
      quiet: true,
    },
  );
  // A file that was stopped by the failure of another is red as well, for what it has left.
  return /^ FAIL +\|?[\w-]+\|? +(.+ > .+)$/m.exec(output)?.[1]?.trim();
}
