// @ts-check
import { findScenario, libraries } from "../../bench/support/catalogue.mjs";
import { measuredWith, rounded } from "./chart-data.mjs";
import { roundsOf } from "./results.mjs";

/** @import { ChartData, Series } from "./chart-data.mjs" */
/** @import { GrowthChart } from "./growth-catalogue.mjs" */
/** @import { BenchResults } from "./results.mjs" */

/**
 * What such a chart shows: all that is needed to draw it, and to draw it in another way.
 *
 * @typedef {Omit<ChartData, "series" | "reference"> & { readonly clients: readonly number[], readonly series: readonly Growth[] }} GrowthData
 */

/**
 * @typedef {object} Growth
 * @property {string} library
 * @property {Series["role"]} role
 * @property {readonly (readonly number[])[]} values for each number of clients one for each round
 */

/**
 * @param {GrowthChart} chart
 * @param {BenchResults} results
 * @returns {GrowthData | undefined} undefined: too little of it was measured
 */
export function growthDataOf({ name, steps, metric }, { head, runs }) {
  const contestants = steps
    .slice(0, 1)
    .flatMap(({ scenario }) => findScenario(scenario).contestants(libraries));
  const series = contestants.flatMap(({ name: library, role }) => {
    const values = steps.map(({ scenario }) => roundsOf(runs, scenario, library, metric).map(rounded));
    // Of one point there is no line.
    return values.filter((rounds) => rounds.length > 0).length < 2 ? [] : [{ library, role, values }];
  });
  if (series.length === 0) return undefined;
  const scenarios = steps.map(({ scenario }) => scenario);
  return {
    chart: name,
    ...measuredWith(head, runs, scenarios),
    loopMs: head.options.forMs,
    clients: steps.map(({ clients }) => clients),
    series,
  };
}
