// @ts-check
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { charts } from "./catalogue.mjs";
import { chartDataOf, chartJson } from "./chart-data.mjs";
import { drawChart, drawGrowth } from "./draw.mjs";
import { growthCharts } from "./growth-catalogue.mjs";
import { growthDataOf } from "./growth-data.mjs";
import { checkPublishable, readResults } from "./results.mjs";
import { themes } from "./themes.mjs";

/** @import { BenchResults } from "./results.mjs" */
/** @import { Theme } from "./themes.mjs" */

/**
 * @typedef {object} Picture a chart of either catalogue
 * @property {string} name
 * @property {(results: BenchResults) => { readonly series: readonly object[] } | undefined} dataOf
 * @property {(data: any, theme: Theme) => Promise<string>} draw
 */

/** @type {readonly Picture[]} */
const pictures = [
  ...charts.map((chart) => ({
    name: chart.name,
    dataOf: (/** @type {BenchResults} */ results) => chartDataOf(chart, results),
    draw: (/** @type {any} */ data, /** @type {Theme} */ theme) => drawChart(chart, data, theme),
  })),
  ...growthCharts.map((chart) => ({
    name: chart.name,
    dataOf: (/** @type {BenchResults} */ results) => growthDataOf(chart, results),
    draw: (/** @type {any} */ data, /** @type {Theme} */ theme) => drawGrowth(chart, data, theme),
  })),
];

/**
 * Writes the charts of which a run of the bench has measured enough: their data, and the pictures of it.
 *
 * @param {string} resultsFile
 * @param {string} folder
 * @returns {Promise<readonly string[]>} their names
 */
export async function recordCharts(resultsFile, folder) {
  return record(readResults(resultsFile), folder);
}

/**
 * The same for charts that others are to see.
 *
 * @param {string} resultsFile
 * @param {string} folder
 * @returns {Promise<readonly string[]>} their names
 */
export async function publishCharts(resultsFile, folder) {
  const results = readResults(resultsFile);
  checkPublishable(results.head);
  return record(results, folder);
}

/**
 * @param {BenchResults} results
 * @param {string} folder
 */
async function record(results, folder) {
  const recorded = pictures.flatMap((picture) => {
    const data = picture.dataOf(results);
    return data === undefined ? [] : [{ picture, json: chartJson(data) }];
  });
  if (recorded.length > 0) mkdirSync(folder, { recursive: true });
  for (const { picture, json } of recorded) writeFileSync(dataFile(folder, picture), json);
  return drawRecorded(
    folder,
    recorded.map(({ picture }) => picture),
  );
}

/**
 * Draws charts from their data in a folder: all that are there, unless it is said which.
 *
 * @param {string} folder
 * @param {readonly Picture[]} [which]
 * @returns {Promise<readonly string[]>} their names
 */
export async function drawRecorded(
  folder,
  which = pictures.filter((picture) => existsSync(dataFile(folder, picture))),
) {
  for (const picture of which) {
    const data = JSON.parse(readFileSync(dataFile(folder, picture), "utf8"));
    for (const theme of themes) {
      writeFileSync(join(folder, `${picture.name}-${theme.name}.svg`), await picture.draw(data, theme));
    }
  }
  return which.map(({ name }) => name);
}

/**
 * @param {string} folder
 * @param {Pick<Picture, "name">} picture
 */
function dataFile(folder, { name }) {
  return join(folder, `${name}.json`);
}
