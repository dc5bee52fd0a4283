// @ts-check

/** @import { Axis, GroupMark, Mark, Spec } from "vega" */
/** @import { Theme } from "../charts/themes.mjs" */
/** @import { Panel, Recording } from "./record.mjs" */

/** One cell of the grid of Grafana, which is 24 wide. */
const CELL = { width: 50, height: 23 };
const PADDING = 10;
const LEGEND_LINE = 15;
const MOST_NAMES = 6;
/** A letter of a legend, on average. */
const LETTER = 6.2;
const FONT = "DejaVu Sans, Verdana, sans-serif";

/** @type {Readonly<Record<string, string>>} */
const SUFFIXES = { s: " s", cps: " /s" };
/**
 * No axis ends below it.
 *
 * @type {Readonly<Record<string, number>>}
 */
const LEAST_TOP = { s: 0.1 };

/**
 * The panels as Grafana lays them out, drawn by Vega.
 *
 * @param {Recording} recording
 * @param {Theme} theme
 * @returns {Spec}
 */
export function dashboardSpecification(recording, theme) {
  const { panels } = recording;
  const height = Math.max(...panels.map(({ gridPos: { y, h } }) => y + h)) * CELL.height;
  return {
    width: 24 * CELL.width,
    height,
    padding: 8,
    background: theme.background,
    config: { text: { font: FONT }, axis: { labelFont: FONT } },
    marks: panels.map((panel) => markOf(panel, recording, theme)),
  };
}

/** @param {Panel} panel @param {Recording} recording @param {Theme} theme @returns {GroupMark} */
function markOf(panel, recording, theme) {
  const { type, title, gridPos } = panel;
  const [x, y] = [gridPos.x * CELL.width, gridPos.y * CELL.height];
  const [width, height] = [gridPos.w * CELL.width, gridPos.h * CELL.height];
  if (type === "row")
    return group({ x, y, width, height }, [text(title, { x: 4, y: 16, size: 13, bold: true }, theme)]);
  const box = { x: x + 3, y: y + 3, width: width - 6, height: height - 6 };
  const head = text(title, { x: PADDING, y: 18, size: 12 }, theme);
  const inside = type === "stat" ? [statOf(panel, box, theme)] : [plotOf(panel, box, recording, theme)];
  return group(box, [head, ...inside, ...(type === "stat" ? [] : legendOf(panel, box, theme))], theme.grid);
}

/** @param {Panel} panel @param {{ width: number, height: number }} box @param {Theme} theme @returns {Mark} */
function statOf({ unit, series }, { width, height }, theme) {
  const last = series[0]?.values.findLast((value) => value !== null) ?? null;
  const shown = last === null ? "–" : `${last.toLocaleString("en-US")}${SUFFIXES[unit] ?? ""}`;
  return text(shown, { x: width / 2, y: height / 2 + 18, size: 26, bold: true, align: "center" }, theme);
}

/**
 * @param {Panel} panel
 * @param {{ width: number, height: number }} box
 * @param {Recording} recording
 * @param {Theme} theme
 * @returns {GroupMark}
 */
function plotOf({ title, unit, series }, box, { seconds, alerts }, theme) {
  const legendHeight =
    Math.max(...legendPlaces(series, box.width).map(({ line }) => line + 1), 1) * LEGEND_LINE;
  const [width, height] = [box.width - 60, box.height - 50 - legendHeight];
  const values = series.flatMap(({ name, values: all }) =>
    all.map((value, second) => ({ name, second, value })),
  );
  const most = Math.max(LEAST_TOP[unit] ?? 1, ...values.map(({ value }) => value ?? 0));
  const data = `${title} values`;
  const bands = `${title} alerts`;
  /** @type {Omit<Axis, "orient" | "scale">} */
  const axis = {
    labelColor: theme.quietText,
    gridColor: theme.grid,
    domainColor: theme.grid,
    ticks: false,
    labelFontSize: 10,
  };
  return {
    ...group({ x: 46, y: 30, width, height }, [
      {
        type: "rect",
        from: { data: bands },
        encode: {
          enter: {
            x: { scale: "x", field: "from" },
            x2: { scale: "x", field: "to" },
            y: { value: 0 },
            height: { value: height },
            fill: { value: theme.roles.peer },
            fillOpacity: { value: 0.18 },
          },
        },
      },
      {
        type: "group",
        from: { facet: { name: "line", data, groupby: "name" } },
        marks: [
          {
            type: "line",
            from: { data: "line" },
            encode: {
              enter: {
                x: { scale: "x", field: "second" },
                y: { scale: "y", field: "value" },
                // Where there is no value the line is broken.
                defined: { signal: "datum.value !== null" },
                stroke: { scale: "colour", field: "name" },
                strokeWidth: { value: 1.5 },
              },
            },
          },
        ],
      },
    ]),
    // Lines of the grid are as long as these.
    signals: [
      { name: "width", value: width },
      { name: "height", value: height },
    ],
    data: [
      { name: data, values },
      { name: bands, values: bandsOf(alerts, seconds) },
    ],
    scales: [
      { name: "x", type: "linear", domain: [0, seconds], range: [0, width] },
      { name: "y", type: "linear", domain: [0, most], nice: 4, range: [height, 0] },
      { name: "colour", type: "ordinal", domain: series.map(({ name }) => name), range: coloursOf(theme) },
    ],
    axes: [
      {
        orient: "left",
        scale: "y",
        tickCount: 4,
        grid: true,
        format: unit === "percentunit" ? ".0%" : ",.3~r",
        ...axis,
      },
      { orient: "bottom", scale: "x", tickCount: 5, ...axis },
    ],
  };
}

/**
 * When any alert fires.
 *
 * @param {Recording["alerts"]} alerts
 * @param {number} seconds
 */
function bandsOf(alerts, seconds) {
  const firing = new Set(alerts.flatMap((alert) => alert.seconds));
  /** @type {{ from: number, to: number }[]} */
  const bands = [];
  for (let second = 0; second <= seconds; second += 1) {
    const last = bands.at(-1);
    if (!firing.has(second)) continue;
    if (last?.to === second) last.to = second + 1;
    else bands.push({ from: second, to: second + 1 });
  }
  return bands.map(({ from, to }) => ({ from, to: Math.min(to, seconds) }));
}

/**
 * Names in their colours.
 *
 * @param {Panel} panel
 * @param {{ width: number, height: number }} box
 * @param {Theme} theme
 * @returns {Mark[]}
 */
function legendOf({ series }, box, theme) {
  const colours = coloursOf(theme);
  const places = legendPlaces(series, box.width);
  const lines = Math.max(0, ...places.map(({ line }) => line));
  return places.map(({ name, x, line }, nth) => {
    const y = box.height - 6 - (lines - line) * LEGEND_LINE;
    return text(`– ${name}`, { x, y, size: 10, colour: colours[nth % colours.length] }, theme);
  });
}

/**
 * In as many lines as the names need.
 *
 * @param {Panel["series"]} series
 * @param {number} width
 */
function legendPlaces(series, width) {
  let [x, line] = [PADDING, 0];
  return series.slice(0, MOST_NAMES).map(({ name }) => {
    const needed = (name.length + 3) * LETTER;
    if (x > PADDING && x + needed > width) [x, line] = [PADDING, line + 1];
    const place = { name, x, line };
    x += needed;
    return place;
  });
}

/** @param {Theme} theme */
function coloursOf({ roles, lines }) {
  return [roles.ours, ...lines];
}

/**
 * @param {string} words
 * @param {{ x: number, y: number, size: number, bold?: boolean, align?: "center", colour?: string | undefined }} how
 * @param {Theme} theme
 * @returns {Mark}
 */
function text(words, { x, y, size, bold = false, align, colour }, theme) {
  return {
    type: "text",
    encode: {
      enter: {
        text: { value: words },
        x: { value: x },
        y: { value: y },
        fontSize: { value: size },
        fontWeight: { value: bold ? "bold" : "normal" },
        align: { value: align ?? "left" },
        fill: { value: colour ?? theme.text },
      },
    },
  };
}

/**
 * @param {{ x: number, y: number, width: number, height: number }} box
 * @param {Mark[]} marks
 * @param {string} [stroke]
 * @returns {GroupMark}
 */
function group({ x, y, width, height }, marks, stroke) {
  return {
    type: "group",
    encode: {
      enter: {
        x: { value: x },
        y: { value: y },
        width: { value: width },
        height: { value: height },
        ...(stroke === undefined ? {} : { stroke: { value: stroke }, cornerRadius: { value: 3 } }),
      },
    },
    marks,
  };
}
