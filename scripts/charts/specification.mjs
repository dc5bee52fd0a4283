// @ts-check
import { MARGIN, NOTE_SIZE, ROW_HEIGHT, ROWS_Y, WIDTH } from "./dimensions.mjs";
import { plot } from "./plot.mjs";
import { rowsOf } from "./rows.mjs";
import { roleNames } from "./themes.mjs";
import { notesOf } from "./words.mjs";

/** @import { Mark, Spec } from "vega" */
/** @import { Chart } from "./catalogue.mjs" */
/** @import { ChartData } from "./chart-data.mjs" */
/** @import { Row } from "./rows.mjs" */
/** @import { Theme } from "./themes.mjs" */

const FONT = '-apple-system, "Segoe UI", Helvetica, Arial, sans-serif';
const TITLE_SIZE = 19;
const NOTE_LINE = 20;

/** From the top of the picture. */
const TITLE_Y = 28;
const MEASURE_Y = 52;
const LEGEND_Y = 78;

/** With its labels and its title. */
const AXIS_HEIGHT = 66;

const SWATCH = 13;
const SWATCH_GAP = 6;
const LEGEND_GAP = 10;
/** More than a letter of the notes takes in any usual font: texts are not measured, since fonts differ. */
const LETTER_WIDTH = 9;

/**
 * The picture as Vega draws it: nothing in it depends on the machine or on the fonts that it has.
 *
 * @param {Chart} chart
 * @param {ChartData} data
 * @param {Theme} theme
 * @returns {Spec}
 */
export function specificationOf(chart, data, theme) {
  const rows = rowsOf(chart, data);
  const height = rows.length * ROW_HEIGHT;
  const notes = notesOf(chart, data, rows);
  const notesY = ROWS_Y + height + AXIS_HEIGHT;
  return {
    width: WIDTH,
    height: notesY + notes.length * NOTE_LINE,
    padding: 0,
    autosize: "none",
    background: theme.background,
    config: { text: { font: FONT }, axis: { labelFont: FONT, titleFont: FONT } },
    marks: [
      text(MARGIN, TITLE_Y, chart.title, { size: TITLE_SIZE, bold: true, color: theme.text }),
      text(MARGIN, MEASURE_Y, `${chart.measure}; ${chart.better} is better`, { color: theme.quietText }),
      ...legend(rows, theme),
      plot(chart, data, rows, theme),
      ...notes.map((note, i) => text(MARGIN, notesY + i * NOTE_LINE, note, { color: theme.quietText })),
    ],
  };
}

/**
 * @param {number} x
 * @param {number} y
 * @param {string} words
 * @param {{ size?: number, bold?: boolean, color: string }} style
 * @returns {Mark}
 */
function text(x, y, words, { size = NOTE_SIZE, bold = false, color }) {
  return {
    type: "text",
    encode: {
      enter: {
        x: { value: x },
        y: { value: y },
        text: { value: words },
        fontSize: { value: size },
        fontWeight: { value: bold ? "bold" : "normal" },
        fill: { value: color },
      },
    },
  };
}

/**
 * @param {readonly Row[]} rows
 * @param {Theme} theme
 * @returns {readonly Mark[]}
 */
function legend(rows, theme) {
  let x = MARGIN;
  return Object.entries(roleNames).flatMap(([role, words]) => {
    if (!rows.some((row) => row.role === role)) return [];
    const color = theme.roles[/** @type {Row["role"]} */ (role)];
    const left = x;
    x += SWATCH + SWATCH_GAP + words.length * LETTER_WIDTH + LEGEND_GAP;
    return [
      /** @type {Mark} */ ({
        type: "rect",
        encode: {
          enter: {
            x: { value: left },
            y: { value: LEGEND_Y - SWATCH + 1 },
            width: { value: SWATCH },
            height: { value: SWATCH },
            fill: { value: color },
          },
        },
      }),
      text(left + SWATCH + SWATCH_GAP, LEGEND_Y, words, { color: theme.text }),
    ];
  });
}
