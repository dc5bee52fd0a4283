// @ts-check
import { median } from "../../bench/support/statistics.mjs";

/** @import { Chart } from "./catalogue.mjs" */
/** @import { ChartData, Series } from "./chart-data.mjs" */

/**
 * A library as it is drawn.
 *
 * @typedef {object} Row
 * @property {number} row from the top
 * @property {string} library
 * @property {Series["role"]} role
 * @property {number} median
 * @property {number} least
 * @property {number} most
 * @property {readonly number[]} values
 * @property {string} text its figures, in words
 */

/**
 * The libraries, the best on top.
 *
 * @param {Chart} chart
 * @param {ChartData} data
 * @returns {readonly Row[]}
 */
export function rowsOf({ better }, { series, rounds }) {
  const sign = better === "more" ? -1 : 1;
  return series
    .map((one) => ({
      ...one,
      median: median(one.values),
      least: Math.min(...one.values),
      most: Math.max(...one.values),
    }))
    .sort((a, b) => sign * (a.median - b.median))
    .map((one, row) => ({ ...one, row, text: textOf(one, rounds) }));
}

/**
 * @param {Series & { median: number, least: number, most: number }} series
 * @param {number} rounds
 */
function textOf({ values, median: middle, least, most, beside }, rounds) {
  const isOne = figure(least) === figure(most);
  const range = isOne ? "" : ` (${figure(least)}–${figure(most)})`;
  // A round that failed has given no value.
  const fewer = values.length === rounds ? [] : [`n = ${values.length}`];
  return [`${figure(middle)}${range}`, ...(beside === undefined ? [] : [beside]), ...fewer].join(", ");
}

/** @param {number} value */
function figure(value) {
  if (Math.abs(value) < 0.1) return value.toLocaleString("en", { maximumSignificantDigits: 2 });
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/**
 * From where to where the axis goes: from 0, or over whole powers of ten. A ratio of 1 is always on it.
 *
 * @param {Chart} chart
 * @param {readonly Row[]} rows
 * @returns {readonly [number, number]}
 */
export function domainOf({ scale, to }, rows) {
  const values = [...rows.flatMap((row) => row.values), ...(to === undefined ? [] : [1])];
  if (scale === "linear") return [0, Math.max(...values)];
  const logs = values.filter((value) => value > 0).map(Math.log10);
  if (logs.length === 0) return [1, 10];
  const first = Math.floor(Math.min(...logs));
  return [10 ** first, 10 ** Math.max(Math.ceil(Math.max(...logs)), first + 1)];
}
