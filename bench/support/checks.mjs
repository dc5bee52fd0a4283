/** @import { Metrics } from "./contracts.js" */
/** @import { Job } from "./jobs.mjs" */
/** @import { Results } from "./results.mjs" */

/**
 * A run that says nothing has failed.
 *
 * @param {Metrics} metrics
 */
export function checkMetrics(metrics) {
  const values = Object.entries(metrics);
  if (values.length === 0) throw new Error("nothing was measured");
  for (const [name, value] of values) {
    if (typeof value === "number" && !Number.isFinite(value)) throw new Error(`${name} is ${value}`);
  }
}

/**
 * Columns that nobody has filled, where all who take part have been measured.
 *
 * @param {readonly Job[]} jobs
 * @param {Results} results
 */
export function emptyColumns(jobs, results) {
  const scenarios = [...new Set(jobs.map(({ scenario }) => scenario))];
  return scenarios.flatMap((scenario) => {
    const names = jobs.filter((job) => job.scenario === scenario).map(({ library }) => library.name);
    const isFilled = (/** @type {string} */ metric) =>
      names.some(
        (name) =>
          results.spread(scenario.name, name, metric) !== undefined ||
          results.words(scenario.name, name, metric).length > 0,
      );
    return scenario.columns
      .filter(({ metric }) => !isFilled(metric))
      .map(({ metric }) => ({ scenario, metric }));
  });
}
