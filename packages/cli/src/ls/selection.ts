import type { ClientRef } from "holdfast";
import type { LockFlag, WatchedLock } from "holdfast/watch";
import { heldForMs, waitingCount } from "./list-columns.js";
import type { ListSettings, Sort } from "./list-options.js";

/** The locks that the user asked for, in the requested order. */
export interface Selection {
  readonly locks: readonly WatchedLock[];
  /** How many locks the limit leaves out. */
  readonly more: number;
}

/** Locks that need an operator; a stale lock ends by itself, but late. */
const NEVER_ENDS: ReadonlySet<LockFlag> = new Set(["stale", "leaked", "no-ttl"]);

export function select(
  found: readonly WatchedLock[],
  { stale, waiting, olderThanMs, client, sort, limit }: ListSettings,
): Selection {
  const chosen = found.filter(
    (lock) =>
      (!stale || lock.flags.some((flag) => NEVER_ENDS.has(flag))) &&
      (!waiting || waitingCount(lock) > 0 || (lock.listeners ?? 0) > 0) &&
      (olderThanMs === 0 || (heldForMs(lock) ?? -1) >= olderThanMs) &&
      (client === "" || isAbout(lock, client)),
  );
  const locks = chosen.sort(orders[sort]);
  return { locks: locks.slice(0, limit), more: Math.max(0, locks.length - limit) };
}

const byName = (a: WatchedLock, b: WatchedLock) => (a.name < b.name ? -1 : 1);

const orders: Readonly<Record<Sort, (a: WatchedLock, b: WatchedLock) => number>> = {
  age: (a, b) => (heldForMs(b) ?? -1) - (heldForMs(a) ?? -1) || byName(a, b),
  waiting: (a, b) =>
    waitingCount(b) - waitingCount(a) || (b.listeners ?? 0) - (a.listeners ?? 0) || byName(a, b),
  name: byName,
};

/** @param text the search text in lower case */
function isAbout({ holders, waiting }: WatchedLock, text: string): boolean {
  return [...holders, ...waiting].some(
    ({ holder, client }) =>
      holder?.toLowerCase().includes(text) || (client !== null && tellsOf(client, text)),
  );
}

function tellsOf({ id, app, host, pid, labels }: ClientRef, text: string): boolean {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return [id, `${app}@${host ?? ""}`, String(pid ?? ""), ...pairs].some((each) =>
    each.toLowerCase().includes(text),
  );
}
