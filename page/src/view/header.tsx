import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { View } from "../data/store.js";
import { shown } from "../text/shown.js";
import { clockText, countText, durationText } from "../words/words.js";
import { useWords } from "./page-context.js";
import { type Route, screens, writeRoute } from "./route.js";
import { Ticking } from "./ticking.js";

interface HeaderProps {
  readonly view: View;
  readonly route: Route;
  /** How many losses came since the events were last opened. */
  readonly unseen: number;
  openHelp(): void;
}

/** The title of the page, the server, and whether the page is up to date. */
export function Header({ view, route, unseen, openHelp }: HeaderProps) {
  const words = useWords();
  const { me } = view;
  return (
    <header class="top">
      <button type="button" class="skip" onClick={skip}>
        {words.skip}
      </button>
      <h1>
        <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
          <rect class="plate" width="32" height="32" rx="8" />
          <path d="M11 15v-3.5a5 5 0 0 1 10 0V15" />
          <rect x="8.5" y="15" width="15" height="10" rx="2.5" />
        </svg>
        <span>{me === null ? words.screens.locks : shown(me.title)}</span>
      </h1>
      <nav aria-label={words.navigation}>
        {screens.map((screen) => (
          <a
            key={screen}
            href={writeRoute({ ...route, screen, lock: null })}
            aria-current={route.screen === screen ? "page" : undefined}
          >
            {words.screens[screen]}
            {screen === "events" && unseen > 0 ? <span class="badge stale number">{unseen}</span> : null}
          </a>
        ))}
      </nav>
      <div class="where">
        <Status view={view} />
        <span class="server dim" title={me === null ? undefined : versions(me)}>
          {me === null ? "" : shown(me.server)}
        </span>
        <button type="button" class="quiet" aria-label={words.help} title={words.helpOpen} onClick={openHelp}>
          ?
        </button>
      </div>
    </header>
  );
}

/** A button calls this. A link can not do it, because the fragment of the address is the route. */
function skip(): void {
  document.getElementById("content")?.focus();
}

function versions({ redis, holdfast }: NonNullable<View["me"]>): string {
  return [...(redis === null ? [] : [shown(redis)]), `holdfast ${shown(holdfast)}`].join(" · ");
}

/** While Redis is away, "live" would be wrong even if the feed is open. */
function Status({ view: { connection, away } }: { readonly view: View }) {
  const words = useWords();
  const isFed = connection.is === "live" || connection.is === "polling";
  const is = isFed && away !== null ? "away" : connection.is;
  return (
    <span class={`status ${is}`} role="status" title={is === "polling" ? words.pollingWhy : ""}>
      <span class="dot" aria-hidden="true" />
      {words[is]}
    </span>
  );
}

/** A problem that makes everything on the page out of date. */
export function Banner({ view, retry }: { readonly view: View; retry(): void }) {
  const words = useWords();
  const { connection, away, atMs, toldMs } = view;
  if (connection.is === "refused") return null;
  if (connection.is === "lost" && view.isKnown) {
    return (
      <Bar>
        <Ticking
          text={(nowMs) =>
            words.lostWhy(durationText(words, nowMs - connection.sinceMs), shown(connection.reason))
          }
        />
        <button type="button" class="small" onClick={retry}>
          {words.tryAgain}
        </button>
      </Bar>
    );
  }
  if (away === null) return null;
  return (
    <Bar>
      <Ticking
        text={(nowMs) =>
          words.awayWhy(
            durationText(words, atMs - away.sinceMs + nowMs - toldMs),
            clockText(words, away.sinceMs),
            shown(away.reason),
          )
        }
      />
    </Bar>
  );
}

/** A bar at the bottom of the window. The CSS property `--banner` is its height, so that everything else ends above the bar. */
function Bar({ children }: { readonly children: ComponentChildren }) {
  const bar = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const { style } = document.documentElement;
    const measured = new ResizeObserver(() =>
      style.setProperty("--banner", `${bar.current?.offsetHeight ?? 0}px`),
    );
    if (bar.current !== null) measured.observe(bar.current);
    return () => {
      measured.disconnect();
      style.removeProperty("--banner");
    };
  }, []);
  return (
    <div ref={bar} class="banner" role="alert">
      {children}
    </div>
  );
}

/** The four numbers at the top of the page. */
export function Figures({ view }: { readonly view: View }) {
  const words = useWords();
  const { totals, locks } = view;
  const waits = [...locks.values()].flatMap(({ row, toldMs }) =>
    row.waiting.flatMap(({ forMs }) => (forMs === null ? [] : [toldMs - forMs])),
  );
  const firstMs = waits.length === 0 ? undefined : Math.min(...waits);
  const number = (count: number) => (view.isKnown ? countText(words, count) : "–");
  return (
    <dl class="figures">
      <div>
        <dt>{words.held}</dt>
        <dd class="number">{number(totals.held)}</dd>
      </div>
      <div class={totals.waiting > 0 ? "awaited" : ""}>
        <dt>{words.waitingCalls}</dt>
        <dd class="number">{number(totals.waiting)}</dd>
      </div>
      <div>
        <dt>{words.longestWait}</dt>
        <dd class="number">
          {firstMs === undefined ? "–" : <Ticking text={(nowMs) => durationText(words, nowMs - firstMs)} />}
        </dd>
      </div>
      <div class={totals.gone > 0 ? "stale" : ""}>
        <dt>{words.clientsThere}</dt>
        <dd class="number">
          {number(totals.clients)}{" "}
          <small>
            {view.isKnown && totals.clients > 0
              ? totals.gone > 0
                ? words.goneClients(totals.gone)
                : words.noneGone
              : ""}
          </small>
        </dd>
      </div>
    </dl>
  );
}
