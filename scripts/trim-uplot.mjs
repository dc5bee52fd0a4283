// @ts-check

/**
 * What of uPlot the page never runs: calendars (the page writes its own times), legends, zooming, series that come and go, other paths than
 * lines, logarithmic scales, bands and gaps. Its one module is one closure, which no bundler takes apart, and they are a quarter of it.
 */
const UNUSED = [
  "addBand",
  "addSeries",
  "asinhAxisSplits",
  "bandFillClipDirs",
  "bars",
  "clipBandLine",
  "dblClick",
  "delBand",
  "delSeries",
  "findColWidth",
  "fmtDate",
  "genTimeStuffs",
  "guessDec",
  "initLegendRow",
  "isAsc",
  "join",
  "legendFill",
  "legendStroke",
  "log10AxisValsFilt",
  "log2AxisValsFilt",
  "logAxisSplits",
  "mkDate",
  "_monotoneCubic",
  "mouseDown",
  "mouseUp",
  "points",
  "rangeAsinh",
  "rangeLog",
  "_rangeNum",
  "setAlpha",
  "setBand",
  "setFocus",
  "setSelect",
  "setSeries",
  "setLegend",
  "setLegendValues",
  "snapNumX",
  "sortCols",
  "splineInterp",
  "stepped",
  "syncLegend",
  "timeAxisStamps",
  "timeAxisVal",
  "timeAxisVals",
  "timeSeriesStamp",
  "timeSeriesVal",
  "toggleDOM",
  "tzDate",
];

/** What the callers of some of them take apart or call. Default: null. */
const ANSWERS = new Map([
  ["bandFillClipDirs", "[]"],
  ["genTimeStuffs", "[[], [], () => null]"],
]);

/** What is always so: no legend, one series along one axis of time, no names of days and months. */
const ALWAYS = [
  ["days.map(slice3)", "[]"],
  ["months.map(slice3)", "[]"],
  ["genIncrs(2, -53, 53, [1])", "[]"],
  ["const showLegend = legend.show;", "const showLegend = false;"],
  ["mode == 1", "true"],
  ["mode == 2", "false"],
];

/** Empties these functions, so that the bundler drops what they alone need. A release in which one has another form fails the build. */
export function trimUplot() {
  return {
    name: "holdfast:trim-uplot",
    /**
     * @param {string} code
     * @param {string} id
     */
    transform(code, id) {
      return id.endsWith("uPlot.esm.js") ? ALWAYS.reduce(settle, UNUSED.reduce(empty, code)) : undefined;
    },
  };
}

/**
 * @param {string} code
 * @param {string} name
 */
function empty(code, name) {
  const [found, ...others] = code.matchAll(new RegExp(`^(\\t*)function ${name}\\(.*\\) \\{\\n`, "gm"));
  if (found === undefined || others.length > 0) throw new Error(`uPlot has not one function ${name}`);
  const [head, indent = ""] = found;
  const start = found.index + head.length;
  const end = code.indexOf(`\n${indent}}\n`, start - 1);
  return `${code.slice(0, start)}${indent}\treturn ${ANSWERS.get(name) ?? "null"};${code.slice(end)}`;
}

/**
 * @param {string} code
 * @param {readonly string[]} always
 */
function settle(code, [text = "", meaning = ""]) {
  if (!code.includes(text)) throw new Error(`uPlot has no ${text}`);
  return code.replaceAll(text, meaning);
}
