// @ts-check
import { MARGIN, NOTE_SIZE, ROW_HEIGHT, ROWS_Y, WIDTH } from "./dimensions.mjs";
import { bars, clearings, guides, lineAtOne, medians, names, ranges, rounds } from "./marks.mjs";
import { domainOf } from "./rows.mjs";

/** @import { Axis, Mark, Scale } from "vega" */
/** @import { Chart } from "./catalogue.mjs" */
/** @import { ChartData } from "./chart-data.mjs" */
/** @import { Row } from "./rows.mjs" */
/** @import { Theme } from "./themes.mjs" */

/**
 * The rows and their axis.
 *
 * @param {Chart} chart
 * @param {ChartData} data
 * @param {readonly Row[]} rows
 * @param {Theme} theme
 * @returns {Mark}
 */
export function plot(chart, data, rows, theme) {
  const domain = domainOf(chart, rows);
  const drawn = rows.map((row) => ({ ...row, color: theme.roles[row.role], y: row.row * ROW_HEIGHT }));
  const width = WIDTH - 2 * MARGIN;
  return {
    type: "group",
    encode: {
      enter: {
        x: { value: MARGIN },
        y: { value: ROWS_Y },
        width: { value: width },
        height: { value: rows.length * ROW_HEIGHT },
      },
    },
    // An axis takes the size of its plot from these; else it would be that of the picture.
    signals: [
      { name: "width", value: width },
      { name: "height", value: rows.length * ROW_HEIGHT },
    ],
    data: [
      { name: "rows", values: drawn },
      {
        name: "rounds",
        values: drawn.flatMap(({ y, values }) => values.map((value) => ({ y, value }))),
      },
    ],
    scales: [scaleOf(chart, domain, width)],
    axes: [axisOf(chart, data, domain, theme)],
    marks: [
      ...(data.reference === undefined ? [] : [lineAtOne(rows.length, theme)]),
      clearings(width, theme),
      // A bar stands for a length from 0, which a logarithmic axis does not have.
      ...(chart.scale === "linear" ? [bars()] : [guides(width, theme)]),
      ranges(theme),
      ...(chart.scale === "linear" ? [] : [medians()]),
      rounds(theme),
      ...names(width, theme),
    ],
  };
}

/**
 * @param {Chart} chart
 * @param {readonly [number, number]} domain
 * @param {number} width
 * @returns {Scale}
 */
function scaleOf({ scale }, domain, width) {
  const range = /** @type {[number, number]} */ ([0, width]);
  // What is 0 has no place on a logarithmic axis; the notes say that it is drawn at the left end.
  return scale === "log"
    ? { name: "x", type: "log", domain: [...domain], range, clamp: true }
    : { name: "x", type: "linear", domain: [...domain], range, nice: true };
}

/**
 * @param {Chart} chart
 * @param {ChartData} data
 * @param {readonly [number, number]} domain
 * @param {Theme} theme
 * @returns {Axis}
 */
function axisOf({ scale, unit }, { reference }, [first, last], theme) {
  const decades = Math.round(Math.log10(last / first));
  return {
    scale: "x",
    orient: "bottom",
    title: reference === undefined ? unit : `times that of ${reference}`,
    titleFontSize: NOTE_SIZE,
    titleFontWeight: "normal",
    titleColor: theme.quietText,
    titlePadding: 6,
    labelFontSize: NOTE_SIZE,
    labelColor: theme.quietText,
    labelFlush: true,
    labelOverlap: "greedy",
    labelSeparation: 8,
    format: ",~r",
    ticks: false,
    labelPadding: 5,
    domainColor: theme.grid,
    grid: true,
    gridColor: theme.grid,
    ...(scale === "log"
      ? { values: Array.from({ length: decades + 1 }, (_, i) => first * 10 ** i) }
      : { tickCount: 5 }),
  };
}
