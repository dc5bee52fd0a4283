import { useState } from "preact/hooks";
import type { Point } from "../../../src/inspector/format.js";
import type { View } from "../data/store.js";
import { shown } from "../text/shown.js";
import type { Words } from "../words/en.js";
import { clockText, countText, waitText } from "../words/words.js";
import { Chart } from "./chart.js";
import { Empty } from "./empty-locks.js";
import { usePage, useWords } from "./page-context.js";

export interface Series {
  readonly name: "waiting" | "acquired" | "longest" | "losses";
  readonly title: string;
  value(point: Point): number;
  text(value: number): string;
}

const STEP_SECONDS = 10;

function seriesOf(words: Words): readonly Series[] {
  const count = (value: number) => countText(words, value);
  return [
    { name: "waiting", title: words.chartWaiting, value: ({ waiting }) => waiting, text: count },
    {
      name: "acquired",
      title: words.chartAcquired,
      value: ({ acquired }) => acquired / STEP_SECONDS,
      text: (value) => countText(words, Math.round(value * 10) / 10),
    },
    {
      name: "longest",
      title: words.chartLongest,
      value: ({ longestMs }) => longestMs,
      text: (value) => waitText(words, value),
    },
    { name: "losses", title: words.chartLosses, value: ({ losses }) => losses, text: count },
  ];
}

/** The fleet over the last hour. */
export function OverTimeScreen({ view }: { readonly view: View }) {
  const words = useWords();
  if (!view.isKnown) return null;
  if (view.history.length === 0) return <Empty title={words.noHistory} text={words.overTimeWhy} />;
  return (
    <div class="over-time">
      {seriesOf(words).map((series) => (
        <Figure key={series.name} series={series} history={view.history} />
      ))}
      <Busiest history={view.history} />
      <p class="blind">{words.overTimeWhy}</p>
    </div>
  );
}

function Figure({ series, history }: { readonly series: Series; readonly history: readonly Point[] }) {
  const words = useWords();
  const [isTable, setIsTable] = useState(false);
  const values = history.map((point) => series.value(point));
  const now = series.text(values.at(-1) ?? 0);
  const most = series.text(Math.max(...values));
  return (
    <figure class={`chart ${series.name}`}>
      <figcaption>
        <h2>{series.title}</h2>
        <span class="number now">{now}</span>
        <span class="number dim">{words.chartMost(most)}</span>
        <button type="button" class="small" aria-pressed={isTable} onClick={() => setIsTable(!isTable)}>
          {words.asTable}
        </button>
      </figcaption>
      {isTable ? (
        <Values series={series} history={history} />
      ) : (
        <Chart
          series={series}
          history={history}
          label={`${series.title}: ${words.chartNow(now)}, ${words.chartMost(most)}`}
        />
      )}
    </figure>
  );
}

function Values({ series, history }: { readonly series: Series; readonly history: readonly Point[] }) {
  const words = useWords();
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard.
    <section class="values" tabIndex={0} aria-label={series.title}>
      <table>
        <thead>
          <tr>
            <th scope="col">{words.time}</th>
            <th scope="col" class="number">
              {series.title}
            </th>
          </tr>
        </thead>
        <tbody>
          {history.toReversed().map((point) => (
            <tr key={point.atMs}>
              <td class="number">{clockText(words, point.atMs)}</td>
              <td class="number">{series.text(series.value(point))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The names with the most waiting calls. */
function Busiest({ history }: { readonly history: readonly Point[] }) {
  const { words, openLock } = usePage();
  const most = new Map<string, number>();
  for (const { busiest } of history) {
    for (const { key, waiting } of busiest) most.set(key, Math.max(most.get(key) ?? 0, waiting));
  }
  const rows = [...most].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).slice(0, 8);
  return (
    <figure class="chart busiest">
      <figcaption>
        <h2>{words.busiest}</h2>
        <span class="dim">{words.mostWaiting}</span>
      </figcaption>
      {rows.length === 0 ? <p class="dim">{words.busiestNone}</p> : null}
      <ol class="bars">
        {rows.map(([key, waiting]) => (
          <li key={key}>
            <button type="button" class="link" onClick={() => openLock(key)}>
              {shown(key)}
            </button>
            <progress aria-label={words.mostWaiting} max={rows[0]?.[1] ?? 1} value={waiting} />
            <span class="number">{countText(words, waiting)}</span>
          </li>
        ))}
      </ol>
    </figure>
  );
}
