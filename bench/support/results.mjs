import { appendFileSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { median } from "./statistics.mjs";

/** @import { Library, Metrics, Scenario } from "./contracts.js" */

/**
 * @typedef {object} Spread
 * @property {number} median
 * @property {number} least
 * @property {number} most
 */

/** What the runs have given, for the tables and the bars. */
export class Results {
  /** @type {Map<string, Metrics[]>} */
  #runs = new Map();
  /** The servers that were used. */
  servers = /** @type {Set<string>} */ (new Set());

  /**
   * @param {Scenario} scenario
   * @param {Library} library
   * @param {Metrics} metrics
   * @param {string} server
   */
  add(scenario, library, metrics, server) {
    const key = keyOf(scenario.name, library.name);
    this.#runs.set(key, [...(this.#runs.get(key) ?? []), metrics]);
    if (server !== "") this.servers.add(server);
  }

  /**
   * Of all rounds. Undefined where nothing was measured.
   *
   * @param {string} scenario
   * @param {string} library
   * @param {string} metric
   * @returns {Spread | undefined}
   */
  spread(scenario, library, metric) {
    const values = this.#values(scenario, library, metric).filter((value) => typeof value === "number");
    if (values.length === 0) return undefined;
    return { median: median(values), least: Math.min(...values), most: Math.max(...values) };
  }

  /**
   * What was said instead of a number, each once.
   *
   * @param {string} scenario
   * @param {string} library
   * @param {string} metric
   */
  words(scenario, library, metric) {
    const values = this.#values(scenario, library, metric).filter((value) => typeof value === "string");
    return [...new Set(values)];
  }

  /**
   * @param {string} scenario
   * @param {string} library
   * @param {string} metric
   */
  #values(scenario, library, metric) {
    const runs = this.#runs.get(keyOf(scenario, library)) ?? [];
    return runs.flatMap((metrics) => (metrics[metric] === undefined ? [] : [metrics[metric]]));
  }
}

/**
 * @param {string} scenario
 * @param {string} library
 */
function keyOf(scenario, library) {
  return `${scenario}/${library}`;
}

/** Each run as a line of JSON, as soon as it is over. */
export class ResultFile {
  #path;

  /** @param {string} path */
  constructor(path) {
    this.#path = path;
    mkdirSync(dirname(path), { recursive: true });
  }

  /** @param {object} line */
  write(line) {
    appendFileSync(this.#path, `${JSON.stringify(line)}\n`);
  }
}
