import { useEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";
import type { Point } from "../../../src/inspector/format.js";
import type { Words } from "../words/en.js";
import { clockText } from "../words/words.js";
import type { Series } from "./over-time-screen.js";
import { useWords } from "./page-context.js";

interface ChartProps {
  readonly series: Series;
  readonly history: readonly Point[];
  readonly label: string;
}

const HEIGHT = 168;
const GAP_SECONDS = 25;
/** The least time that a chart spans: a new chart is empty to the left of its first point. */
const LEAST_SECONDS = 60;

/** One series on a canvas, redrawn when its width or the colours of the system change. */
export function Chart({ series, history, label }: ChartProps) {
  const words = useWords();
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const latest = useRef(history);
  latest.current = history;
  useEffect(() => {
    const { current: element } = frame;
    if (element === null) return;
    let isGone = false;
    const draw = async () => {
      const { default: Plot } = await import("uplot");
      if (isGone) return;
      plot.current?.destroy();
      const data = dataOf(latest.current, series);
      plot.current = new Plot(optionsOf(element, words, series, Plot.sync("over-time").key), data, element);
    };
    const drawAgain = () => void draw();
    drawAgain();
    const resized = new ResizeObserver(() => {
      const { clientWidth: width } = element;
      if (width > 0 && width !== plot.current?.width) plot.current?.setSize({ width, height: HEIGHT });
    });
    resized.observe(element);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", drawAgain);
    return () => {
      isGone = true;
      resized.disconnect();
      dark.removeEventListener("change", drawAgain);
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [series.name, words]);
  useEffect(() => plot.current?.setData(dataOf(history, series)), [history]);
  return <div ref={frame} class="plot" role="img" aria-label={label} />;
}

function dataOf(history: readonly Point[], series: Series): uPlot.AlignedData {
  const times: number[] = [];
  const values: (number | null)[] = [];
  for (const point of history) {
    const second = point.atMs / 1_000;
    const before = times.at(-1);
    // While no page was open, nothing was measured, so no line is drawn across the gap.
    if (before !== undefined && second - before > GAP_SECONDS) {
      times.push(before + 1);
      values.push(null);
    }
    times.push(second);
    values.push(series.value(point));
  }
  return [times, values];
}

/** The distances that two marks on the axis of time may have, in seconds. */
const TIME_STEPS = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400,
  604_800, 2_592_000,
];

/** @param key shared by all charts that show the same moment under the pointer */
function optionsOf(
  element: HTMLElement,
  words: Words,
  { name, title, text }: Series,
  key: string,
): uPlot.Options {
  const style = getComputedStyle(element);
  const color = (property: string) => style.getPropertyValue(property).trim();
  const stroke = style.color;
  const axis = {
    stroke: color("--dim"),
    font: `11px ${style.fontFamily}`,
    grid: { stroke: color("--line-soft"), width: 1 },
    ticks: { show: false },
    gap: 6,
  };
  return {
    width: Math.max(200, element.clientWidth),
    height: HEIGHT,
    padding: [10, 18, 0, 0],
    legend: { show: false },
    cursor: { sync: { key }, drag: { x: false, y: false }, points: { size: 7, fill: stroke } },
    scales: {
      x: { time: false, range: (_, least, most) => [Math.min(least, most - LEAST_SECONDS), most] },
      y: { range: (_, __, most) => [0, Math.max(most * 1.1, name === "longest" ? 1_000 : 4)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 26,
        space: 70,
        incrs: TIME_STEPS.filter((step) => step >= 10),
        values: (_, seconds, __, ___, step) =>
          seconds.map((second) => clockText(words, second * 1_000, step < 60)),
      },
      {
        ...axis,
        ...(name === "longest" && { incrs: TIME_STEPS.map((step) => step * 1_000) }),
        size: widthOf,
        space: 36,
        values: (_, values) => values.map((value) => text(value)),
      },
    ],
    series: [
      {},
      {
        label: title,
        stroke,
        width: 1.5,
        fill: color("--chart-fill"),
        points: { show: false },
      },
    ],
    plugins: [valueUnderPointer(words, text)],
  };
}

/** The width of an axis, which fits its longest label. */
function widthOf({ ctx }: uPlot, labels: string[] | null): number {
  const widths = (labels ?? []).map((label) => ctx.measureText(label).width / devicePixelRatio);
  return Math.max(36, ...widths) + 12;
}

/** Names the value under the pointer. */
function valueUnderPointer(words: Words, text: (value: number) => string): uPlot.Plugin {
  const tip = document.createElement("output");
  tip.className = "tip number";
  return {
    hooks: {
      ready: ({ over }) => over.append(tip),
      setCursor({ cursor, data, over }) {
        const { idx, left = -1 } = cursor;
        const [seconds = [], values = []] = data;
        const second = idx == null || values[idx] == null ? undefined : seconds[idx];
        tip.hidden = left < 0 || second === undefined;
        if (idx == null || second === undefined || tip.hidden) return;
        tip.textContent = `${clockText(words, second * 1_000)}  ${text(values[idx] ?? 0)}`;
        tip.classList.toggle("left", left > over.clientWidth / 2);
      },
    },
  };
}
