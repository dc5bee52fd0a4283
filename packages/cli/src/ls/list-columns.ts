import type { ListedHolder } from "holdfast";
import type { WatchedLock } from "holdfast/watch";
import { tellDuration } from "../duration.js";
import { tellKind } from "../text/kinds.js";
import type { Column } from "../text/table.js";
import { type Detail, isKept, tellHolder } from "../text/tell-holder.js";

/** The columns of `holdfast ls`. */
export const listColumns: readonly Column<WatchedLock>[] = [
  { head: "NAME", text: ({ name }) => name, cuts: "middle", style: () => "bold" },
  {
    head: "KIND",
    text: ({ kind, holders }) =>
      tellKind(
        kind,
        holders.map(({ holder }) => holder),
      ),
    leftOut: 1,
  },
  {
    head: "HELD BY",
    text: (lock) => tellHolders(lock, "whole"),
    shorter: [(lock) => tellHolders(lock, "short"), (lock) => tellHolders(lock, "least")],
    cuts: "end",
    style: ({ holders }) => {
      if (holders.length === 0) return "dim";
      return holders.some(({ client }) => client?.state === "gone") ? "yellow" : undefined;
    },
  },
  { head: "SINCE", text: (lock) => tellAge(heldForMs(lock)), alignsRight: true },
  {
    head: "LEASE",
    text: tellLease,
    alignsRight: true,
    style: ({ flags }) => (flags.includes("no-ttl") ? "yellow" : undefined),
  },
  {
    head: "WAITING",
    text: tellWaiting,
    shorter: [tellWaitingShort],
  },
  {
    head: "FLAGS",
    text: ({ flags, holders }) =>
      [...flags, ...(holders.some(({ holder }) => isKept(holder)) ? ["kept"] : [])].join(" "),
    style: ({ flags }) =>
      flags.some((flag) => flag === "stale" || flag === "leaked") ? ["red", "bold"] : undefined,
  },
];

/** How long the oldest hold has lasted; null if presence does not tell. */
export function heldForMs({ holders }: WatchedLock): number | null {
  return longest(holders.map(({ sinceMs }) => sinceMs));
}

/** How many calls wait, as far as it is known. */
export function waitingCount({ waiting, more }: WatchedLock): number {
  return waiting.length + more.waiting;
}

/** The first holder, and the number of the other holders. */
function tellHolders({ holders, more, takenCount = 0 }: WatchedLock, detail: Detail): string {
  const [first] = oldestFirst(holders);
  if (first === undefined)
    return takenCount > 0 ? `${takenCount} permit${takenCount === 1 ? "" : "s"} out` : "-";
  const others = holders.length - 1 + more.holders;
  const times = detail === "whole" && first.count > 1 ? ` ×${first.count}` : "";
  const rest = detail === "whole" ? ` and ${others} more` : ` +${others}`;
  return `${tellHolder(first, detail)}${times}${others > 0 ? rest : ""}`;
}

/** Holders without presence come last. */
export function oldestFirst(holders: readonly ListedHolder[]): readonly ListedHolder[] {
  return holders.toSorted((a, b) => (b.sinceMs ?? -1) - (a.sinceMs ?? -1));
}

function tellLease({ ttlMs, holders, kind, permanentCount = 0 }: WatchedLock): string {
  if (ttlMs >= 0) return tellDuration(ttlMs);
  if (permanentCount > 0 || holders.some(({ permanent }) => permanent === true)) return "no end";
  const isCount =
    kind === "semaphore" || kind === "count-down-latch" || kind === "permit-expirable-semaphore";
  return ttlMs === -1 && holders.length > 0 && !isCount ? "no end" : "-";
}

function tellWaiting(lock: WatchedLock): string {
  const count = waitingCount(lock);
  const { waiting, listeners = 0 } = lock;
  if (count === 0) return listeners === 0 ? "-" : `${listeners} listening`;
  const isQueue = waiting.every(({ holder }) => holder !== null);
  const forMs = longest(waiting.map((waiter) => waiter.forMs));
  return `${count}${isQueue ? " in the queue" : ""}${forMs === null ? "" : `, longest ${tellDuration(forMs)}`}`;
}

function tellWaitingShort(lock: WatchedLock): string {
  const count = waitingCount(lock);
  const { listeners = 0 } = lock;
  if (count > 0) return String(count);
  return listeners === 0 ? "-" : `${listeners} listen`;
}

function tellAge(ms: number | null): string {
  return ms === null ? "-" : tellDuration(ms);
}

function longest(times: readonly (number | null)[]): number | null {
  const known = times.filter((ms) => ms !== null);
  return known.length === 0 ? null : Math.max(...known);
}
