// @ts-check
import { MARGIN, NOTE_SIZE, WIDTH } from "./dimensions.mjs";
import { linesOf, placeNames } from "./growth-lines.mjs";
import { pictureOf } from "./picture.mjs";
import { measuredWords } from "./words.mjs";

/** @import { Axis, Mark, Spec } from "vega" */
/** @import { GrowthChart } from "./growth-catalogue.mjs" */
/** @import { GrowthData } from "./growth-data.mjs" */
/** @import { Theme } from "./themes.mjs" */

const TOP = 76;
const LEFT = 58;
/** Right of it stand the names. */
const PLOT_WIDTH = 292;
const PLOT_HEIGHT = 300;
const AXIS_HEIGHT = 66;
const NAME_X = PLOT_WIDTH + 22;
/** From a last point to its name. */
const LEADER = { from: PLOT_WIDTH + 8, to: PLOT_WIDTH + 18 };
const POINT_SIZE = 70;

/**
 * @param {GrowthChart} chart
 * @param {GrowthData} data
 * @param {Theme} theme
 * @returns {Spec}
 */
export function growthSpecificationOf(chart, data, theme) {
  return pictureOf({
    title: chart.title,
    measure: `${chart.measure}; ${chart.better} is better`,
    marks: [plot(chart, data, theme)],
    notesY: TOP + PLOT_HEIGHT + AXIS_HEIGHT,
    notes: [
      ...(chart.scale === "log" ? ["Both axes are logarithmic."] : []),
      `Symbol: median of ${data.rounds} rounds. Upright: least to most.`,
      ...measuredWords(data),
    ],
    theme,
  });
}

/**
 * @param {GrowthChart} chart
 * @param {GrowthData} data
 * @param {Theme} theme
 * @returns {Mark}
 */
function plot(chart, data, theme) {
  const lines = linesOf(data, theme);
  const [first, last] = domainOf(chart, data);
  const names = placeNames(lines, (value) => placeOf(chart, value, first, last), PLOT_HEIGHT);
  const range = /** @type {[number, number]} */ ([PLOT_HEIGHT, 0]);
  const clients = [...data.clients];
  return {
    type: "group",
    encode: {
      enter: {
        x: { value: LEFT },
        y: { value: TOP },
        width: { value: PLOT_WIDTH },
        height: { value: PLOT_HEIGHT },
      },
    },
    signals: [
      { name: "width", value: PLOT_WIDTH },
      { name: "height", value: PLOT_HEIGHT },
    ],
    data: [
      { name: "points", values: lines.flatMap(({ points }) => points) },
      { name: "names", values: names },
    ],
    scales: [
      {
        name: "x",
        type: "log",
        domain: [clients[0] ?? 1, clients.at(-1) ?? 1],
        range: [0, PLOT_WIDTH],
      },
      { name: "y", type: chart.scale, domain: [first, last], range },
    ],
    axes: axesOf(chart, clients, first, last, theme),
    marks: [
      ...lines.map(({ library, color }) => lineOf(library, color)),
      uprights(),
      symbols(theme),
      ...nameMarks(),
    ],
  };
}

/**
 * @param {string} library
 * @param {string} color
 * @returns {Mark}
 */
function lineOf(library, color) {
  return {
    type: "group",
    data: [
      {
        name: "own",
        source: "points",
        transform: [{ type: "filter", expr: `datum.library === '${library}'` }],
      },
    ],
    marks: [
      {
        type: "line",
        from: { data: "own" },
        encode: {
          enter: {
            x: { scale: "x", field: "clients" },
            y: { scale: "y", field: "median" },
            stroke: { value: color },
            strokeWidth: { value: 2.5 },
          },
        },
      },
    ],
  };
}

/** @returns {Mark} */
function uprights() {
  return {
    type: "rule",
    from: { data: "points" },
    encode: {
      enter: {
        x: { scale: "x", field: "clients" },
        y: { scale: "y", field: "least" },
        y2: { scale: "y", field: "most" },
        stroke: { field: "color" },
        strokeWidth: { value: 1.5 },
      },
    },
  };
}

/**
 * @param {Theme} theme
 * @returns {Mark}
 */
function symbols(theme) {
  return {
    type: "symbol",
    from: { data: "points" },
    encode: {
      enter: {
        x: { scale: "x", field: "clients" },
        y: { scale: "y", field: "median" },
        shape: { field: "shape" },
        size: { value: POINT_SIZE },
        fill: { field: "color" },
        stroke: { value: theme.background },
        strokeWidth: { value: 1 },
      },
    },
  };
}

/** @returns {readonly Mark[]} */
function nameMarks() {
  return [
    {
      type: "rule",
      from: { data: "names" },
      encode: {
        enter: {
          x: { value: LEADER.from },
          x2: { value: LEADER.to },
          y: { field: "lastY" },
          y2: { field: "y" },
          stroke: { field: "color" },
        },
      },
    },
    {
      type: "text",
      from: { data: "names" },
      encode: {
        enter: {
          x: { value: NAME_X },
          y: { field: "y" },
          baseline: { value: "middle" },
          fontSize: { value: NOTE_SIZE },
          fontWeight: [{ test: "datum.role === 'ours'", value: "bold" }, { value: "normal" }],
          fill: { field: "color" },
          text: { field: "library" },
        },
      },
    },
  ];
}

/**
 * @param {GrowthChart} chart
 * @param {readonly number[]} clients
 * @param {number} first
 * @param {number} last
 * @param {Theme} theme
 * @returns {Axis[]}
 */
function axesOf({ scale }, clients, first, last, theme) {
  const style = /** @type {const} */ ({
    labelFontSize: NOTE_SIZE,
    labelColor: theme.quietText,
    titleFontSize: NOTE_SIZE,
    titleFontWeight: "normal",
    titleColor: theme.quietText,
    domainColor: theme.grid,
    grid: true,
    gridColor: theme.grid,
    ticks: false,
    labelPadding: 6,
    format: ",~r",
  });
  const decades = Math.round(Math.log10(last / first));
  return [
    { scale: "x", orient: "bottom", title: "clients that want the lock", values: [...clients], ...style },
    {
      scale: "y",
      orient: "left",
      ...style,
      ...(scale === "log"
        ? { values: Array.from({ length: decades + 1 }, (_, i) => first * 10 ** i) }
        : { tickCount: 5 }),
    },
  ];
}

/**
 * From 0 to 1 at least, or over whole powers of ten.
 *
 * @param {GrowthChart} chart
 * @param {GrowthData} data
 * @returns {readonly [number, number]}
 */
function domainOf({ scale }, { series }) {
  const values = series.flatMap((one) => one.values.flat()).filter((value) => value > 0);
  if (scale === "linear") return [0, Math.max(1, ...values)];
  const first = Math.floor(Math.log10(Math.min(...values)));
  return [10 ** first, 10 ** Math.max(Math.ceil(Math.log10(Math.max(...values))), first + 1)];
}

/**
 * Where a value stands, from the top of the plot.
 *
 * @param {GrowthChart} chart
 * @param {number} value
 * @param {number} first
 * @param {number} last
 */
function placeOf({ scale }, value, first, last) {
  const part =
    scale === "log" ? Math.log(value / first) / Math.log(last / first) : (value - first) / (last - first);
  return PLOT_HEIGHT * (1 - part);
}

/** The place that a name has. */
export const NAME_WIDTH = WIDTH - MARGIN - LEFT - NAME_X;
