import type { SortBy } from "../data/arrangement.js";
import { encoded } from "../text/encoded.js";
import { patternOf } from "../text/glob.js";

/** The view that the fragment of the address names, so that the address can be shared. */
export interface Route {
  readonly screen: Screen;
  /** The text of the filter. */
  readonly match: string;
  readonly waited: boolean;
  readonly stale: boolean;
  readonly jvm: boolean;
  readonly sort: SortBy;
  /** The key of the lock whose panel is open. */
  readonly lock: string | null;
}

export const screens = ["locks", "clients", "time", "events"] as const;

const sorts = ["waiting", "name", "age"] as const;

export type Screen = (typeof screens)[number];

const LONGEST_MATCH = 500;

export function readRoute(fragment: string): Route {
  const [path = "", query = ""] = fragment.replace(/^#\/?/, "").split("?", 2);
  const params = new URLSearchParams(query);
  return {
    screen: screens.find((screen) => screen === path) ?? "locks",
    match: (params.get("match") ?? "").slice(0, LONGEST_MATCH),
    waited: params.has("waited"),
    stale: params.has("stale"),
    jvm: params.has("jvm"),
    sort: sorts.find((sort) => sort === params.get("sort")) ?? "waiting",
    lock: params.get("lock"),
  };
}

export function writeRoute({ screen, match, waited, stale, jvm, sort, lock }: Route): string {
  const params = new URLSearchParams();
  if (match !== "") params.set("match", match);
  for (const [name, isOn] of Object.entries({ waited, stale, jvm })) if (isOn) params.set(name, "1");
  if (sort !== "waiting") params.set("sort", sort);
  if (lock !== null) params.set("lock", lock);
  return `#/${screen}${params.size > 0 ? `?${params}` : ""}`;
}

/** The part of the route about locks, as the page requests it from the server. */
export function wantedOf({ match, waited, stale, jvm, sort }: Route): string {
  const only = Object.entries({ waited, stale, jvm }).flatMap(([name, isOn]) => (isOn ? [name] : []));
  return [
    match === "" ? "" : `&match=${encoded(patternOf(match))}`,
    sort === "waiting" ? "" : `&sort=${sort}`,
    only.length === 0 ? "" : `&only=${only}`,
  ].join("");
}
