// @ts-check
/**
 * Measures how long the first import of "holdfast" takes in a new process, beside that of ioredis, and fails when it is above the limit. The
 * two alternate, so that a busy machine hits both alike.
 *
 *   node scripts/cold-import.mjs             20 runs each, on Node 22 and 26
 *   node scripts/cold-import.mjs --runs 5
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build } from "./build.mjs";
import { installedNode } from "./node-releases.mjs";
import { mustRun } from "./run-command.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
/** Of the time that ioredis takes, by the medians. */
const LIMIT = 0.4;
const RELEASES = [22, 26];
const MEASURED = ["holdfast", "ioredis"];

const { values } = parseArgs({ options: { runs: { type: "string", default: "20" } } });
const runs = Number(values.runs);
if (!(runs >= 1)) throw new RangeError(`--runs must be a number from 1, got ${values.runs}`);
if (!(await build({ packageOnly: true }))) process.exit(1);
for (const release of RELEASES) {
  const node = await installedNode(release);
  // The first reads the files from the disk.
  for (const name of MEASURED) await importMs(node, name);
  /** @type {number[][]} */
  const rounds = [];
  for (let run = 0; run < runs; run += 1) {
    const ours = await importMs(node, "holdfast");
    rounds.push([ours, await importMs(node, "ioredis")]);
  }
  const [ours = 0, theirs = 0] = MEASURED.map((_, nth) => median(rounds.map((round) => round[nth] ?? 0)));
  const ratio = ours / theirs;
  const verdict = ratio <= LIMIT ? "" : "  TOO SLOW";
  console.log(
    `Node ${release}, ${runs} runs: holdfast ${ours.toFixed(1)} ms, ioredis ${theirs.toFixed(1)} ms: ${ratio.toFixed(3)}, limit ${LIMIT}${verdict}`,
  );
  if (ratio > LIMIT) process.exitCode = 1;
}

/**
 * @param {string} node the path of a binary
 * @param {string} name of a package
 */
async function importMs(node, name) {
  const program = `const start = performance.now(); await import("${name}"); console.log(performance.now() - start);`;
  return Number(await mustRun(node, ["--input-type=module", "--eval", program], { cwd: join(root) }));
}

/** @param {readonly number[]} numbers */
function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
