// @ts-check
import { MARGIN, NOTE_SIZE, WIDTH } from "./dimensions.mjs";

/** @import { Mark, Spec } from "vega" */
/** @import { Theme } from "./themes.mjs" */

const FONT = '-apple-system, "Segoe UI", Helvetica, Arial, sans-serif';
const TITLE_SIZE = 19;
const NOTE_LINE = 20;

/** From the top of the picture. */
const TITLE_Y = 28;
const MEASURE_Y = 52;

/**
 * What every picture has: a title, what is shown, and notes below.
 *
 * @param {object} picture
 * @param {string} picture.title
 * @param {string} picture.measure
 * @param {readonly Mark[]} picture.marks between the two
 * @param {number} picture.notesY from the top
 * @param {readonly string[]} picture.notes
 * @param {Theme} picture.theme
 * @returns {Spec}
 */
export function pictureOf({ title, measure, marks, notesY, notes, theme }) {
  return {
    width: WIDTH,
    height: notesY + notes.length * NOTE_LINE,
    padding: 0,
    autosize: "none",
    background: theme.background,
    config: { text: { font: FONT }, axis: { labelFont: FONT, titleFont: FONT } },
    marks: [
      text(MARGIN, TITLE_Y, title, { size: TITLE_SIZE, bold: true, color: theme.text }),
      text(MARGIN, MEASURE_Y, measure, { color: theme.quietText }),
      ...marks,
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
export function text(x, y, words, { size = NOTE_SIZE, bold = false, color }) {
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
