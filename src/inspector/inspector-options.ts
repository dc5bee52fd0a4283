import { checkCount, checkObject, known, refuseUnknown, shown } from "../checks.js";
import { type Clock, systemClock } from "../clock.js";
import type { Authorize } from "./access.js";

/** How locks are shown, and which requests may read them. */
export interface InspectorOptions {
  /** Decides about each request, including those for scripts and styles. An error, or any other role, counts as `none`: 404. */
  readonly authorize: Authorize;
  /** Default: `Locks`. */
  readonly title?: string;
  /** How often to look at the locks while a page is open, in milliseconds, from 500 to 60 000. Default: 2 000. */
  readonly refreshMs?: number;
  /** How many minutes of the numbers over time to keep in memory, from 1 to 1 440. Default: 60. */
  readonly historyMinutes?: number;
  /** How many pages may be open at once, from 1 to 1 000; at most ten for one `actor`. Default: 50. */
  readonly maxViewers?: number;
  /**
   * Links from clients and to traces, as templates of http or https URLs with placeholders only after the host:
   * `https://grafana.example/d/pods?pod={labels.pod}`. Default: none.
   */
  readonly links?: { readonly client?: string; readonly trace?: string };
  /** Where browsers see the page, as `https://ops.example`, behind a proxy that rewrites `Host`. Default: taken from the request. */
  readonly origin?: string;
  /** The group whose presence to read. Default: the group of the client's presence, else `default`. */
  readonly group?: string;
  /** Gets a line for each lock that is freed. Default: no log. */
  readonly log?: (line: string) => void;
  /** Time; a fake clock for tests. Default: the clock of the process. */
  readonly clock?: Clock;
}

/** The options with every default filled in. */
export interface InspectorSettings {
  readonly authorize: Authorize;
  readonly title: string;
  readonly refreshMs: number;
  readonly historyMinutes: number;
  readonly maxViewers: number;
  readonly links: { readonly client: string | null; readonly trace: string | null };
  readonly origin: string | undefined;
  readonly group: string | undefined;
  readonly log: (line: string) => void;
  readonly clock: Clock;
}

const LONGEST_TITLE = 100;
const REFRESH_MS = 2_000;
const SHORTEST_REFRESH_MS = 500;
const LONGEST_REFRESH_MS = 60_000;
const HISTORY_MINUTES = 60;
const DAY_MINUTES = 1_440;
const MAX_VIEWERS = 50;
const MOST_VIEWERS = 1_000;

const OPTIONS = known<InspectorOptions>("option", "inspector", {
  authorize: true,
  title: true,
  refreshMs: true,
  historyMinutes: true,
  maxViewers: true,
  links: true,
  origin: true,
  group: true,
  log: true,
  clock: true,
});
const LINKS = known<NonNullable<InspectorOptions["links"]>>("link", "inspector", {
  client: true,
  trace: true,
});

/** @throws TypeError, RangeError */
export function inspectorSettings(options: InspectorOptions): InspectorSettings {
  checkObject("options", options, "{ authorize: (request) => ({ role: 'read' }) }");
  const { authorize, title = "Locks", refreshMs = REFRESH_MS, ...others } = options;
  const { historyMinutes = HISTORY_MINUTES, maxViewers = MAX_VIEWERS, links = {}, ...rest } = others;
  const { origin, group, log = () => undefined, clock = systemClock, ...unknown } = rest;
  refuseUnknown(OPTIONS, unknown);
  if (typeof authorize !== "function") {
    throw new TypeError(
      `authorize must be a function that decides about each request, as in authorize: (request) => ({ role: "read" }), got ${shown(authorize)}`,
    );
  }
  if (typeof title !== "string" || title.length > LONGEST_TITLE)
    throw new TypeError(`title must be a string of at most ${LONGEST_TITLE} characters, got ${shown(title)}`);
  checkCount("refreshMs", refreshMs, SHORTEST_REFRESH_MS, LONGEST_REFRESH_MS);
  checkCount("historyMinutes", historyMinutes, 1, DAY_MINUTES);
  checkCount("maxViewers", maxViewers, 1, MOST_VIEWERS);
  checkOrigin(origin);
  if (typeof log !== "function") throw new TypeError(`log must be a function, got ${shown(log)}`);
  return {
    authorize,
    title,
    refreshMs,
    historyMinutes,
    maxViewers,
    links: checkedLinks(links),
    origin,
    group,
    log,
    clock,
  };
}

function checkOrigin(origin: string | undefined): void {
  if (origin === undefined) return;
  const isOrigin = typeof origin === "string" && /^https?:/.test(origin) && URL.canParse(origin);
  if (!isOrigin || new URL(origin).origin !== origin)
    throw new TypeError(`origin must be as in "https://ops.example", without a path, got ${shown(origin)}`);
}

function checkedLinks(links: NonNullable<InspectorOptions["links"]>): InspectorSettings["links"] {
  checkObject("links", links, '{ client: "https://grafana.example/d/pods?pod={labels.pod}" }');
  const { client, trace, ...unknown } = links;
  refuseUnknown(LINKS, unknown);
  return { client: checkedLink("client", client), trace: checkedLink("trace", trace) };
}

/** The value of a placeholder is data of strangers: it may choose neither the scheme nor the host. */
function checkedLink(name: string, link: string | undefined): string | null {
  if (link === undefined) return null;
  if (typeof link === "string" && /^https?:\/\/[^/?#{}\s]+(?:[/?#]|$)/i.test(link)) return link;
  throw new TypeError(
    `links.${name} must be an http or https URL with placeholders only after the host, got ${shown(link)}`,
  );
}
