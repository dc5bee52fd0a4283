// @ts-check
import { parse, View } from "vega";
import { growthSpecificationOf } from "./growth-specification.mjs";
import { specificationOf } from "./specification.mjs";

/** @import { Spec } from "vega" */
/** @import { Chart } from "./catalogue.mjs" */
/** @import { ChartData } from "./chart-data.mjs" */
/** @import { GrowthChart } from "./growth-catalogue.mjs" */
/** @import { GrowthData } from "./growth-data.mjs" */
/** @import { Theme } from "./themes.mjs" */

/**
 * @param {Chart} chart
 * @param {ChartData} data
 * @param {Theme} theme
 * @returns {Promise<string>} SVG
 */
export function drawChart(chart, data, theme) {
  return svgOf(specificationOf(chart, data, theme));
}

/**
 * @param {GrowthChart} chart
 * @param {GrowthData} data
 * @param {Theme} theme
 * @returns {Promise<string>} SVG
 */
export function drawGrowth(chart, data, theme) {
  return svgOf(growthSpecificationOf(chart, data, theme));
}

/** @param {Spec} specification */
async function svgOf(specification) {
  const view = new View(parse(specification), { renderer: "none" });
  try {
    return `${await view.toSVG()}\n`;
  } finally {
    view.finalize();
  }
}
