import { useEffect, useMemo, useState } from "preact/hooks";
import { Arrangement, type SortBy } from "../data/arrangement.js";
import type { SeenLock, View } from "../data/store.js";
import { nameFilter } from "../text/glob.js";
import { shown } from "../text/shown.js";
import { countText } from "../words/words.js";
import { isJvm, isStale } from "./badges.js";
import { EmptyLocks } from "./empty-locks.js";
import { LockTableRow } from "./lock-row.js";
import { usePage, useWords } from "./page-context.js";
import { type Route, wantedOf } from "./route.js";
import { useRovingFocus } from "./roving-focus.js";

interface LocksScreenProps {
  readonly view: View;
  readonly route: Route;
  setRoute(changes: Partial<Route>): void;
}

/** The start page: all locks, contended locks first. */
export function LocksScreen({ view, route, setRoute }: LocksScreenProps) {
  const words = useWords();
  const by = route.sort;
  const wanted = wantedOf(route);
  // If the filter changes, rows that no longer match disappear at once, even while they are in use.
  const arrangement = useMemo(() => new Arrangement(), [wanted]);
  const { inUse, focused, handlers } = useRovingFocus();
  const [, redraw] = useState(0);
  useEffect(() => {
    const sortAgain = () => {
      arrangement.reset();
      redraw((count) => count + 1);
    };
    addEventListener("holdfast:sort", sortAgain);
    return () => removeEventListener("holdfast:sort", sortAgain);
  }, [arrangement]);
  const found = matching(view.locks, route);
  const placed = arrangement.arrange(found, by, inUse.current, performance.now(), view.locks);
  const tabKey = placed.some(({ lock }) => lock.row.key === focused) ? focused : placed[0]?.lock.row.key;
  const head = (name: string, text: string, sort?: SortBy) => (
    <th
      scope="col"
      class={`c-${name}`}
      aria-sort={sort !== by ? undefined : sort === "name" ? "ascending" : "descending"}
    >
      {sort === undefined ? (
        text
      ) : (
        <button type="button" onClick={() => setRoute({ sort })}>
          {text}
        </button>
      )}
    </th>
  );
  return (
    <>
      <Toolbar view={view} route={route} setRoute={setRoute} found={found.size} />
      {placed.length === 0 ? (
        <EmptyLocks view={view} isFiltered={view.locks.size > 0} />
      ) : (
        <div class="table-frame">
          <table class="locks">
            <caption class="unseen">{words.locksTable}</caption>
            <thead>
              <tr>
                {head("name", words.name, "name")}
                {head("kind", words.kind)}
                {head("holder", words.heldBy)}
                {head("age", words.since, "age")}
                {head("lease", words.lease)}
                {head("waiting", words.waiting, "waiting")}
                {head("longest", words.longest)}
                {head("spark", words.lastMinutes)}
                {head("state", words.state)}
              </tr>
            </thead>
            <tbody {...handlers}>
              {placed.map(({ lock, isFreed }) => (
                <LockTableRow
                  key={lock.row.key}
                  lock={lock}
                  steps={view.contention.get(lock.row.key)}
                  isFreed={isFreed}
                  isOpen={route.lock === lock.row.key}
                  hasTab={lock.row.key === tabKey}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <Blind view={view} />
    </>
  );
}

function matching(locks: View["locks"], { match, waited, stale, jvm }: Route): ReadonlyMap<string, SeenLock> {
  if (match === "" && !waited && !stale && !jvm) return locks;
  const fits = nameFilter(match);
  return new Map(
    [...locks].filter(
      ([, { row }]) =>
        fits(row.name) &&
        (!waited || row.waiting.length > 0 || row.more.waiting > 0) &&
        (!stale || isStale(row)) &&
        (!jvm || isJvm(row.holders)),
    ),
  );
}

function Toolbar({ view, route, setRoute, found }: LocksScreenProps & { readonly found: number }) {
  const words = useWords();
  const all = view.locks.size + view.more;
  const toggle = (name: "waited" | "stale" | "jvm", text: string) => (
    <button
      type="button"
      class="toggle"
      aria-pressed={route[name]}
      onClick={() => setRoute({ [name]: !route[name] })}
    >
      {text}
    </button>
  );
  return (
    <search class="toolbar">
      <span class="filter">
        <input
          type="search"
          id="filter"
          aria-label={words.filter}
          placeholder={words.filterHint}
          autocomplete="off"
          spellcheck={false}
          maxLength={500}
          value={route.match}
          onInput={({ currentTarget }) => setRoute({ match: currentTarget.value })}
        />
        <span class="key" aria-hidden="true">
          /
        </span>
      </span>
      <span class="toggles">
        {toggle("waited", words.waitedFor)}
        {toggle("stale", words.stale)}
        {toggle("jvm", words.jvm)}
      </span>
      <span class="count number" role="status">
        {found === all
          ? words.count(countText(words, all))
          : words.countOf(countText(words, found), countText(words, all))}
        {view.more > 0 ? <span class="dim">{words.moreHidden}</span> : null}
      </span>
    </search>
  );
}

/** One line. Without this line, people would believe that the page shows all locks. */
function Blind({ view }: { readonly view: View }) {
  const words = useWords();
  const { unknown, jvms } = view.totals;
  const sentences = [
    ...(unknown > 0 ? [words.blindHolders(unknown, jvms)] : []),
    words.blindShort,
    ...view.blind.map(shown),
  ];
  return (
    <p class="blind">
      {words.cannotSee} {sentences.join(" ")} {view.me?.role === "operate" ? <Scan scan={view.scan} /> : null}
    </p>
  );
}

/** The search through all keys. It never starts by itself. */
function Scan({ scan }: { readonly scan: View["scan"] }) {
  const { words, requests } = usePage();
  const [failure, setFailure] = useState("");
  const start = () => {
    setFailure("");
    requests.scan().catch((error: unknown) => setFailure(error instanceof Error ? error.message : ""));
  };
  if (scan?.state === "running") return <span role="status">{words.scanning(scan.found)}</span>;
  return (
    <>
      <button type="button" class="link" title={words.scanWhy} onClick={start}>
        {words.scan}
      </button>{" "}
      <span role="status">
        {failure !== "" ? shown(failure) : scan === null ? "" : words.scanned(scan.found)}
        {scan?.reason == null ? "" : ` ${shown(scan.reason)}`}
      </span>
    </>
  );
}
