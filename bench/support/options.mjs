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
 * @returns {Options}
 * @throws TypeError, RangeError, SyntaxError
 */
export function readOptions() {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      rounds: { type: "string" },
      seconds: { type: "string" },
      scenario: { type: "string" },
      library: { type: "string" },
      markdown: { type: "string" },
      results: {
        type: "string",
        default: join(folder("../results"), `${new Date().toISOString().replaceAll(":", "-")}.jsonl`),
      },
      dist: { type: "string", default: folder("../../dist/esm") },
      "holdfast-options": { type: "string", default: "{}" },
    },
  });
  const { quick } = values;
  return {
    quick,
    rounds: positive("rounds", values.rounds, quick ? 1 : ROUNDS),
    forMs: positive("seconds", values.seconds, quick ? QUICK_SECONDS : SECONDS) * 1_000,
    scenarios: values.scenario?.split(","),
    libraries: values.library?.split(","),
    markdown: values.markdown,
    results: values.results,
    dist: values.dist,
    holdfastOptions: JSON.parse(values["holdfast-options"]),
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

/** @param {string} path relative to this file */
function folder(path) {
  return fileURLToPath(new URL(path, import.meta.url));
}
