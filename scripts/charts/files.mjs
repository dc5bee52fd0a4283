// @ts-check
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { charts } from "./catalogue.mjs";
import { chartDataOf, chartJson } from "./chart-data.mjs";
import { drawChart } from "./draw.mjs";
import { checkPublishable, readResults } from "./results.mjs";
import { themes } from "./themes.mjs";

/** @import { Chart } from "./catalogue.mjs" */
/** @import { BenchResults } from "./results.mjs" */

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
  const recorded = charts.flatMap((chart) => {
    const data = chartDataOf(chart, results);
    return data === undefined ? [] : [{ chart, json: chartJson(data) }];
  });
  if (recorded.length > 0) mkdirSync(folder, { recursive: true });
  for (const { chart, json } of recorded) writeFileSync(dataFile(folder, chart), json);
  return drawRecorded(
    folder,
    recorded.map(({ chart }) => chart),
  );
}

/**
 * Draws charts from their data in a folder: all that are there, unless it is said which.
 *
 * @param {string} folder
 * @param {readonly Chart[]} [which]
 * @returns {Promise<readonly string[]>} their names
 */
export async function drawRecorded(
  folder,
  which = charts.filter((chart) => existsSync(dataFile(folder, chart))),
) {
  for (const chart of which) {
    const data = JSON.parse(readFileSync(dataFile(folder, chart), "utf8"));
    for (const theme of themes) {
      writeFileSync(join(folder, `${chart.name}-${theme.name}.svg`), await drawChart(chart, data, theme));
    }
  }
  return which.map(({ name }) => name);
}

/**
 * @param {string} folder
 * @param {Chart} chart
 */
function dataFile(folder, { name }) {
  return join(folder, `${name}.json`);
}
