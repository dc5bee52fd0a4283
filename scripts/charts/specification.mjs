// @ts-check
import { MARGIN, ROW_HEIGHT, ROWS_Y } from "./dimensions.mjs";
import { pictureOf, text } from "./picture.mjs";
import { plot } from "./plot.mjs";
import { rowsOf } from "./rows.mjs";
import { roleNames } from "./themes.mjs";
import { notesOf } from "./words.mjs";

/** @import { Mark, Spec } from "vega" */
/** @import { Chart } from "./catalogue.mjs" */
/** @import { ChartData } from "./chart-data.mjs" */
/** @import { Row } from "./rows.mjs" */
/** @import { Theme } from "./themes.mjs" */

/** From the top of the picture. */
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
  return pictureOf({
    title: chart.title,
    measure: `${chart.measure}; ${chart.better} is better`,
    marks: [...legend(rows, theme), plot(chart, data, rows, theme)],
    notesY: ROWS_Y + rows.length * ROW_HEIGHT + AXIS_HEIGHT,
    notes: notesOf(chart, data, rows),
    theme,
  });
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
