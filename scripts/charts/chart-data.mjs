// @ts-check
import { findScenario, libraries } from "../../bench/support/catalogue.mjs";
import { median } from "../../bench/support/statistics.mjs";
import { roundsOf } from "./results.mjs";

/** @import { Library } from "../../bench/support/contracts.js" */
/** @import { Beside, Chart } from "./catalogue.mjs" */
/** @import { BenchResults, Head, Run } from "./results.mjs" */

/**
 * What a chart shows: all that is needed to draw it, and to draw it in another way.
 *
 * @typedef {object} ChartData
 * @property {string} chart
 * @property {number} cores
 * @property {number} load when the run began
 * @property {string} node
 * @property {readonly string[]} servers
 * @property {readonly string[]} versions
 * @property {number} rounds
 * @property {number} [loopMs] how long a round lasted, where it is a loop
 * @property {string} [reference] the library whose median is 1
 * @property {readonly Series[]} series in the order of the bench
 */

/**
 * @typedef {object} Series
 * @property {string} library
 * @property {Library["role"]} role
 * @property {readonly number[]} values one for each round; ratios where the chart has a reference
 * @property {string} [beside]
 */

/** Enough for any picture, and short to read. */
const SIGNIFICANT_DIGITS = 4;

/**
 * @param {Chart} chart
 * @param {BenchResults} results
 * @returns {ChartData | undefined} undefined: too little of it was measured
 */
export function chartDataOf(chart, { head, runs }) {
  const contestants = findScenario(chart.scenario).contestants(libraries);
  const measured = contestants.filter(
    ({ name }) => roundsOf(runs, chart.scenario, name, chart.metric).length > 0,
  );
  const reference = referenceOf(chart, measured, runs);
  if (measured.length === 0 || (chart.to !== undefined && reference === undefined)) return undefined;
  const one = reference === undefined ? 1 : median(roundsOf(runs, chart.scenario, reference, chart.metric));
  if (one === 0) return undefined;
  return {
    chart: chart.name,
    ...measuredWith(head, runs, [chart.scenario]),
    ...(chart.loops ? { loopMs: head.options.forMs } : {}),
    ...(reference === undefined ? {} : { reference }),
    series: measured.map(({ name, role }) => ({
      library: name,
      role,
      values: roundsOf(runs, chart.scenario, name, chart.metric).map((value) => rounded(value / one)),
      ...besideOf(chart, name, runs),
    })),
  };
}

/**
 * On what machine, with what, and how often.
 *
 * @param {Head} head
 * @param {readonly Run[]} runs
 * @param {readonly string[]} scenarios
 */
export function measuredWith(head, runs, scenarios) {
  const own = runs.filter(({ scenario }) => scenarios.includes(scenario));
  return {
    cores: head.cores,
    load: head.load,
    node: head.node,
    servers: [...new Set(own.map(({ server }) => server))],
    versions: head.versions,
    rounds: head.options.rounds,
  };
}

/**
 * @param {Chart} chart
 * @param {readonly Library[]} measured
 * @param {readonly Run[]} runs
 */
function referenceOf({ to, scenario }, measured, runs) {
  if (to === undefined) return undefined;
  if ("library" in to) return measured.find(({ name }) => name === to.library)?.name;
  const peers = measured
    .filter(({ role }) => role === "peer")
    .map(({ name }) => ({ name, rounds: roundsOf(runs, scenario, name, to.of) }))
    .filter(({ rounds }) => rounds.length > 0)
    .map(({ name, rounds }) => ({ name, value: median(rounds) }))
    .sort((a, b) => a.value - b.value);
  return peers.at(to.peerWith === "most" ? -1 : 0)?.name;
}

/**
 * @param {Chart} chart
 * @param {string} library
 * @param {readonly Run[]} runs
 */
function besideOf({ beside, scenario }, library, runs) {
  const values = beside === undefined ? [] : roundsOf(runs, scenario, library, beside.metric);
  return beside === undefined || values.length === 0 ? {} : { beside: besideText(beside, values) };
}

/**
 * @param {Beside} beside
 * @param {readonly number[]} values
 */
function besideText({ take, text, digits = 0 }, values) {
  const value = take === "sum" ? values.reduce((sum, one) => sum + one, 0) : median(values);
  const figure = value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return text.replace("{}", figure);
}

/** @param {number} value */
export function rounded(value) {
  return Number(value.toPrecision(SIGNIFICANT_DIGITS));
}

/**
 * As JSON with a line for each library, so that a change shows which has changed.
 *
 * @param {{ readonly series: readonly object[] }} data
 */
export function chartJson({ series, ...head }) {
  const lines = Object.entries(head).map(
    ([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)},`,
  );
  const rows = series.map((one) => `    ${JSON.stringify(one)}`).join(",\n");
  return `{\n${lines.join("\n")}\n  "series": [\n${rows}\n  ]\n}\n`;
}
