// @ts-check
import { readFileSync } from "node:fs";

/**
 * The head of a results file of the bench: its first line.
 *
 * @typedef {object} Head
 * @property {number} cores
 * @property {number} load how many tasks wanted the cores when the run began; 0: it had them for itself
 * @property {string} node
 * @property {readonly string[]} versions
 * @property {{ readonly quick: boolean, readonly rounds: number, readonly forMs: number, readonly libraries?: readonly string[] }} options
 */

/** @typedef {{ readonly scenario: string, readonly library: string, readonly server: string, readonly metrics: Readonly<Record<string, number | string>> }} Run */

/** @typedef {{ readonly head: Head, readonly runs: readonly Run[] }} BenchResults */

/**
 * @param {string} file what one `npm run bench` has written: a line of JSON for all of it, and one for each part
 * @returns {BenchResults}
 * @throws when it is no such file
 */
export function readResults(file) {
  const lines = readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line, index) => parsed(line, `line ${index + 1} of ${file}`));
  const heads = lines.filter(({ options }) => options !== undefined);
  if (heads.length !== 1) {
    throw new Error(`${file} must hold the results of one npm run bench, not of ${heads.length}`);
  }
  const [head] = heads;
  const { cores, load, node } = head;
  if (typeof cores !== "number" || typeof load !== "number" || typeof node !== "string") {
    throw new Error(
      `${file} does not say on how many cores, how busy, and with which Node it was measured: measure anew`,
    );
  }
  return { head, runs: lines.filter(({ metrics }) => metrics !== undefined) };
}

/**
 * @param {string} line
 * @param {string} where
 */
function parsed(line, where) {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new Error(`${where} is no JSON`, { cause });
  }
}

/**
 * @param {Head} head
 * @throws when a reader would take the charts for more than they are
 */
export function checkPublishable({ options }) {
  if (options.quick) throw new Error("a quick run is not for publishing: its figures mean nothing");
  if (options.libraries !== undefined) {
    throw new Error(
      `a run of ${options.libraries.join(", ")} alone is not for publishing: measure all libraries`,
    );
  }
}

/**
 * The numbers that a library's rounds have given.
 *
 * @param {readonly Run[]} runs
 * @param {string} scenario
 * @param {string} library
 * @param {string} metric
 */
export function roundsOf(runs, scenario, library, metric) {
  return runs
    .filter((run) => run.scenario === scenario && run.library === library)
    .map(({ metrics }) => metrics[metric])
    .filter((value) => typeof value === "number");
}
