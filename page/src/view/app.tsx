import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Feed } from "../data/feed.js";
import type { Requests } from "../data/requests.js";
import type { Store, View } from "../data/store.js";
import type { Words } from "../words/en.js";
import { ClientsScreen } from "./clients-screen.js";
import { Empty } from "./empty-locks.js";
import { EventsScreen, LossesAloud } from "./events-screen.js";
import { Banner, Figures, Header } from "./header.js";
import { HelpDialog } from "./help-dialog.js";
import { LockPanel } from "./lock-panel.js";
import { LocksScreen } from "./locks-screen.js";
import { OverTimeScreen } from "./over-time-screen.js";
import { PageProvider } from "./page-context.js";
import { type Route, readRoute, wantedOf, writeRoute } from "./route.js";
import { rowButton } from "./roving-focus.js";
import { useShortcuts } from "./shortcuts.js";

interface AppProps {
  readonly store: Store;
  readonly feed: Feed;
  readonly requests: Requests;
  readonly words: Words;
}

/** The whole page. */
export function App({ store, feed, requests, words }: AppProps) {
  const [view, setView] = useState(store.view);
  useEffect(() => {
    // The state may have changed between the first drawing and now.
    setView(store.view);
    return store.read(setView);
  }, [store]);
  const { route, setRoute } = useRoute(requests, feed);
  const [isHelp, setIsHelp] = useState(false);
  const letters = useShortcuts({ setRoute, openHelp: () => setIsHelp(true) });
  useServerFilter(view, route, feed);
  const newestEvent = view.events[0]?.id ?? 0;
  // The event ids of a restarted inspector begin at one again.
  const seenEvents = useRef(Number.POSITIVE_INFINITY);
  if (view.isKnown && (newestEvent < seenEvents.current || route.screen === "events"))
    seenEvents.current = newestEvent;
  const unseen = view.events.filter(({ type, id }) => type === "lost" && id > seenEvents.current).length;
  const firstEvents = useRef(Number.POSITIVE_INFINITY);
  if (view.isKnown && newestEvent < firstEvents.current) firstEvents.current = newestEvent;
  useEffect(() => {
    document.title = view.me?.title ?? words.screens.locks;
  }, [view.me?.title, words]);
  const page = useMemo(
    () => ({ words, requests, openLock: (lock: string) => setRoute({ lock }) }),
    [words, requests, setRoute],
  );
  const close = () => {
    const { lock } = route;
    setRoute({ lock: null });
    focusRow(lock);
  };
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key === "Escape" && route.lock !== null && document.querySelector("dialog[open]") === null)
        close();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  });
  const { connection } = view;
  const isOld = view.away !== null || connection.is === "lost";
  return (
    <PageProvider value={page}>
      <Header view={view} route={route} unseen={unseen} openHelp={() => setIsHelp(true)} />
      <Banner view={view} retry={() => feed.start()} />
      {connection.is === "refused" ? (
        <main id="content" tabIndex={-1}>
          <Refused status={connection.status} words={words} retry={() => feed.start()} />
        </main>
      ) : (
        <main
          id="content"
          tabIndex={-1}
          class={`body${route.lock === null ? "" : " with-panel"}${isOld ? " is-old" : ""}`}
        >
          <div class="list">
            {route.screen === "locks" ? <Figures view={view} /> : null}
            <Screen view={view} route={route} setRoute={setRoute} />
          </div>
          {route.lock === null ? null : <LockPanel view={view} lockKey={route.lock} close={close} />}
        </main>
      )}
      <LossesAloud view={view} since={firstEvents.current} />
      {isHelp ? (
        <HelpDialog lettersAreOn={letters.areOn} setLetters={letters.set} close={() => setIsHelp(false)} />
      ) : null}
    </PageProvider>
  );
}

interface ScreenProps {
  readonly view: View;
  readonly route: Route;
  setRoute(changes: Partial<Route>): void;
}

function Screen({ view, route, setRoute }: ScreenProps) {
  switch (route.screen) {
    case "locks":
      return <LocksScreen view={view} route={route} setRoute={setRoute} />;
    case "clients":
      return <ClientsScreen view={view} />;
    case "time":
      return <OverTimeScreen view={view} />;
    case "events":
      return <EventsScreen view={view} />;
    default:
      return route.screen satisfies never;
  }
}

function Refused({
  status,
  words,
  retry,
}: {
  readonly status: number;
  readonly words: Words;
  retry(): void;
}) {
  const text = status === 401 ? words.refusedToken : status === 421 ? words.refusedHost : words.refusedRole;
  return (
    <Empty title={words.refused} text={text}>
      <button type="button" onClick={retry}>
        {words.tryAgain}
      </button>
    </Empty>
  );
}

/** Gives the focus back to the row from which the panel took it. */
function focusRow(key: string | null): void {
  requestAnimationFrame(() => {
    const row = key === null ? undefined : rowButton(key);
    (row ?? document.getElementById("content"))?.focus({ preventScroll: row !== undefined });
  });
}

/**
 * Reads the route from the fragment of the address, and writes it there. Typing replaces the entry in the history, so that Back leads to
 * the previous screen, not to the previous letter.
 */
function useRoute(requests: Requests, feed: Feed) {
  const [route, set] = useState(() => readRoute(location.hash));
  const current = useRef(route);
  current.current = route;
  useEffect(() => {
    const onHashChange = () => {
      if (requests.takeToken(location.hash)) {
        history.replaceState(null, "", writeRoute(current.current));
        feed.start();
      } else {
        set(readRoute(location.hash));
      }
    };
    addEventListener("hashchange", onHashChange);
    addEventListener("popstate", onHashChange);
    return () => {
      removeEventListener("hashchange", onHashChange);
      removeEventListener("popstate", onHashChange);
    };
  }, [requests, feed]);
  const setRoute = useRef((changes: Partial<Route>) => {
    const next = { ...current.current, ...changes };
    current.current = next;
    const isStep = "screen" in changes || "lock" in changes;
    history[isStep ? "pushState" : "replaceState"](null, "", writeRoute(next));
    set(next);
  }).current;
  return { route, setRoute };
}

const TYPING_MS = 400;

/** The page itself filters the locks that it has. If the server has more locks, the server searches for matches. */
function useServerFilter(view: View, route: Route, feed: Feed): void {
  const wasAsked = useRef(false);
  const wanted = wantedOf(route);
  const isNeeded = view.more > 0 || wasAsked.current;
  useEffect(() => {
    if (!isNeeded) return;
    const timer = setTimeout(() => {
      wasAsked.current = wanted !== "";
      feed.want(wanted);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [wanted, isNeeded, feed]);
}
