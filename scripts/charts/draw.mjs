// @ts-check
import { parse, View } from "vega";
import { specificationOf } from "./specification.mjs";

/** @import { Chart } from "./catalogue.mjs" */
/** @import { ChartData } from "./chart-data.mjs" */
/** @import { Theme } from "./themes.mjs" */

/**
 * @param {Chart} chart
 * @param {ChartData} data
 * @param {Theme} theme
 * @returns {Promise<string>} SVG
 */
export async function drawChart(chart, data, theme) {
  const view = new View(parse(specificationOf(chart, data, theme)), { renderer: "none" });
  try {
    return `${await view.toSVG()}\n`;
  } finally {
    view.finalize();
  }
}
