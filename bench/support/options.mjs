import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

/** @import { HoldfastOptions } from "../../src/index.js" */

const ROUNDS = 3;
const SECONDS = 2;
const QUICK_SECONDS = 0.1;

/**
 * @typedef {object} Options
 * @property {boolean} quick
 * @property {number} rounds
 * @property {number} forMs
 * @property {readonly string[] | undefined} scenarios
 * @property {readonly string[] | undefined} libraries
 * @property {string | undefined} markdown
 * @property {string} results
 * @property {string} dist
 * @property {HoldfastOptions} holdfastOptions
 */

/**
 * What `npm run bench -- --help` lists. `value` stands for what is to be given.
 *
 * @satisfies {Record<string, { type: "string" | "boolean", value?: string, about: string }>}
 */
export const OPTIONS = /** @type {const} */ ({
  quick: {
    type: "boolean",
    about: "each scenario and each library, tiny: whether they still work; the figures mean nothing",
  },
  scenario: { type: "string", value: "a,b", about: "these scenarios only" },
  library: { type: "string", value: "x,y", about: "these libraries only" },
  rounds: {
    type: "string",
    value: "N",
    about: `each run so often, all of them in turn, so that a busy machine hits all alike. Default: ${ROUNDS}`,
  },
  seconds: { type: "string", value: "N", about: `how long each loop is measured. Default: ${SECONDS}` },
  markdown: { type: "string", value: "FILE", about: "the tables, also into a file" },
  results: {
    type: "string",
    value: "FILE",
    about:
      "each run as a line of JSON, and charts in a folder beside it. Default: bench/results/<time>.jsonl",
  },
  dist: { type: "string", value: "FOLDER", about: "another build of holdfast: its dist/esm" },
  "holdfast-options": { type: "string", value: "JSON", about: "options for every Holdfast" },
});

/**
 * @param {readonly string[]} args
 * @returns {Options}
 * @throws TypeError, RangeError, SyntaxError
 */
export function readOptions(args) {
  const { values } = parseArgs({ args: [...args], options: OPTIONS });
  const { quick = false, results = resultsOfNow(), dist = folder("../../dist/esm") } = values;
  return {
    quick,
    rounds: positive("rounds", values.rounds, quick ? 1 : ROUNDS),
    forMs: positive("seconds", values.seconds, quick ? QUICK_SECONDS : SECONDS) * 1_000,
    scenarios: values.scenario?.split(","),
    libraries: values.library?.split(","),
    markdown: values.markdown,
    results,
    dist,
    holdfastOptions: JSON.parse(values["holdfast-options"] ?? "{}"),
  };
}

/**
 * @param {string} name
 * @param {string | undefined} text
 * @param {number} otherwise
 */
function positive(name, text, otherwise) {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (!(value > 0)) throw new RangeError(`--${name} must be a number above 0, not ${text}`);
  return value;
}

function resultsOfNow() {
  return join(folder("../results"), `${new Date().toISOString().replaceAll(":", "-")}.jsonl`);
}

/** @param {string} path relative to this file */
function folder(path) {
  return fileURLToPath(new URL(path, import.meta.url));
}
