// @ts-check
import { BAR_HEIGHT, BAR_Y, MIDDLE_Y, NAME_SIZE, NAME_Y, ROW_HEIGHT } from "./dimensions.mjs";

/** @import { Mark } from "vega" */
/** @import { Theme } from "./themes.mjs" */

/** The lines of the axis are a little longer than a bar is high, at both ends. */
const LINE_ROOM = 2;

/**
 * @param {number} rows
 * @param {Theme} theme
 * @returns {Mark}
 */
export function lineAtOne(rows, theme) {
  return {
    type: "rule",
    encode: {
      enter: {
        x: { scale: "x", value: 1 },
        y: { value: 0 },
        y2: { value: rows * ROW_HEIGHT },
        stroke: { value: theme.quietText },
        strokeDash: { value: [4, 3] },
      },
    },
  };
}

/**
 * The place of the names and figures, free of the lines of the axis.
 *
 * @param {number} width
 * @param {Theme} theme
 * @returns {Mark}
 */
export function clearings(width, theme) {
  return {
    type: "rect",
    from: { data: "rows" },
    encode: {
      enter: {
        x: { value: -LINE_ROOM },
        x2: { value: width + LINE_ROOM },
        y: { field: "y", offset: LINE_ROOM },
        height: { value: BAR_Y - 2 * LINE_ROOM },
        fill: { value: theme.background },
      },
    },
  };
}

/** @returns {Mark} */
export function bars() {
  return {
    type: "rect",
    from: { data: "rows" },
    encode: {
      enter: {
        x: { scale: "x", value: 0 },
        x2: { scale: "x", field: "median" },
        y: { field: "y", offset: BAR_Y },
        height: { value: BAR_HEIGHT },
        fill: { field: "color" },
      },
    },
  };
}

/**
 * @param {Theme} theme
 * @returns {Mark}
 */
export function ranges(theme) {
  return {
    type: "rule",
    from: { data: "rows" },
    encode: {
      enter: {
        x: { scale: "x", field: "least" },
        x2: { scale: "x", field: "most" },
        y: { field: "y", offset: MIDDLE_Y },
        stroke: { value: theme.text },
        strokeWidth: { value: 2 },
      },
    },
  };
}

/**
 * @param {Theme} theme
 * @returns {Mark}
 */
export function rounds(theme) {
  return {
    type: "symbol",
    from: { data: "rounds" },
    encode: {
      enter: {
        x: { scale: "x", field: "value" },
        y: { field: "y", offset: MIDDLE_Y },
        size: { value: 20 },
        fill: { value: theme.background },
        stroke: { value: theme.text },
        strokeWidth: { value: 1.5 },
      },
    },
  };
}

/** @returns {Mark} */
export function medians() {
  return {
    type: "symbol",
    from: { data: "rows" },
    encode: {
      enter: {
        x: { scale: "x", field: "median" },
        y: { field: "y", offset: MIDDLE_Y },
        shape: { value: "diamond" },
        size: { value: 280 },
        fill: { field: "color" },
      },
    },
  };
}

/**
 * Leads the eye from a name to its median.
 *
 * @param {number} width
 * @param {Theme} theme
 * @returns {Mark}
 */
export function guides(width, theme) {
  return {
    type: "rule",
    from: { data: "rows" },
    encode: {
      enter: {
        x: { value: 0 },
        x2: { value: width },
        y: { field: "y", offset: MIDDLE_Y },
        stroke: { value: theme.grid },
      },
    },
  };
}

/**
 * The libraries at the left, their figures at the right.
 *
 * @param {number} width
 * @param {Theme} theme
 * @returns {readonly Mark[]}
 */
export function names(width, theme) {
  const y = { field: "y", offset: NAME_Y };
  const fontSize = { value: NAME_SIZE };
  const fill = { value: theme.text };
  return [
    {
      type: "text",
      from: { data: "rows" },
      encode: {
        enter: {
          x: { value: 0 },
          y,
          fontSize,
          fill,
          fontWeight: [{ test: "datum.role === 'ours'", value: "bold" }, { value: "normal" }],
          text: { field: "library" },
        },
      },
    },
    {
      type: "text",
      from: { data: "rows" },
      encode: {
        enter: { x: { value: width }, y, fontSize, fill, align: { value: "right" }, text: { field: "text" } },
      },
    },
  ];
}
