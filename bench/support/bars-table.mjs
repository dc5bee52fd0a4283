import { bars } from "./bars.mjs";
import { lookAt, OURS } from "./look.mjs";
import { figure, markdownTable } from "./tables.mjs";

/** @import { Bar } from "./bars.mjs" */
/** @import { Job } from "./jobs.mjs" */
/** @import { Results } from "./results.mjs" */

/**
 * What was measured for each bar, and whether it was met. Of the scenarios that were run with holdfast; "" when there
 * are none.
 *
 * @param {Results} results
 * @param {readonly Job[]} jobs
 * @param {boolean} quick figures that mean nothing meet nothing
 */
export function barsTable(results, jobs, quick) {
  const ours = jobs.filter(({ library }) => library.name === OURS);
  const scenarios = new Set(ours.map(({ scenario }) => scenario.name));
  const peers = jobs.filter(({ library }) => library.role === "peer").map(({ library }) => library.name);
  const rows = bars
    .filter(({ scenario }) => scenarios.has(scenario))
    .map((bar) => rowOf(bar, bar.measured(lookAt(bar.scenario, results, [...new Set(peers)])), quick));
  if (rows.length === 0) return "";
  return `## Bars\n\n${markdownTable(["scenario", OURS, "bar", "measured", ""], rows)}`;
}

/**
 * @param {Bar} bar
 * @param {number | undefined} value
 * @param {boolean} quick
 */
function rowOf({ scenario, text, atLeast, atMost, digits = 2 }, value, quick) {
  const bound = atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`;
  if (value === undefined) return [scenario, text, bound, "–", "not measured"];
  const met = value >= (atLeast ?? Number.NEGATIVE_INFINITY) && value <= (atMost ?? Number.POSITIVE_INFINITY);
  return [scenario, text, bound, figure(value, digits), quick ? "" : met ? "met" : "**not met**"];
}
