// @ts-check
/**
 * Measures what the first import of "holdfast" costs a new process, beside that of ioredis, and fails when its processor time is above the
 * limit: the time by the clock, which is told as well, says little on a machine that does something else. The two alternate, so that such a
 * machine hits both alike.
 *
 *   node scripts/cold-import.mjs             20 runs each, on Node 22 and 26
 *   node scripts/cold-import.mjs --runs 5
 */
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
  for (const name of MEASURED) await importCost(node, name);
  /** @type {{ ours: Cost, theirs: Cost }[]} */
  const rounds = [];
  for (let run = 0; run < runs; run += 1) {
    const ours = await importCost(node, "holdfast");
    rounds.push({ ours, theirs: await importCost(node, "ioredis") });
  }
  const processor = compare(rounds, "processorMs");
  const clock = compare(rounds, "clockMs");
  const verdict = processor.ratio <= LIMIT ? "" : "  TOO SLOW";
  console.log(
    `Node ${release}, ${runs} runs: processor ${processor.text}, limit ${LIMIT}${verdict}; clock ${clock.text}`,
  );
  if (!(processor.ratio <= LIMIT)) process.exitCode = 1;
}

/** @typedef {{ clockMs: number, processorMs: number }} Cost */

/**
 * @param {string} node the path of a binary
 * @param {string} name of a package
 * @returns {Promise<Cost>}
 */
async function importCost(node, name) {
  const program = `
    const before = process.cpuUsage();
    const start = performance.now();
    await import("${name}");
    const clockMs = performance.now() - start;
    const { user, system } = process.cpuUsage(before);
    console.log(JSON.stringify({ clockMs, processorMs: (user + system) / 1_000 }));
  `;
  return JSON.parse(await mustRun(node, ["--input-type=module", "--eval", program], { cwd: root }));
}

/**
 * @param {readonly { ours: Cost, theirs: Cost }[]} rounds
 * @param {keyof Cost} part
 */
function compare(rounds, part) {
  const ours = median(rounds.map((round) => round.ours[part]));
  const theirs = median(rounds.map((round) => round.theirs[part]));
  const ratio = ours / theirs;
  const text = `${ours.toFixed(1)} ms to ${theirs.toFixed(1)} ms of ioredis: ${ratio.toFixed(3)}`;
  return { ratio, text };
}

/** @param {readonly number[]} numbers */
function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
