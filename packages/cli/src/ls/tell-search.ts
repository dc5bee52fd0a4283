import type { Fleet, LockSource } from "holdfast";
import type { LocksSeen, WatchedLock } from "holdfast/watch";
import type { AskableSources } from "../find/askable-sources.js";
import { exactName } from "../find/exact-name.js";
import { PRESENCE_HINT } from "../text/presence-hint.js";
import { type ListSettings, MAX_KEYS } from "./list-options.js";
import type { Selection } from "./selection.js";

interface AskedSearch {
  readonly asked: AskableSources;
  readonly settings: ListSettings;
}

/** Facts about a list: its sources, the locks that it cannot contain, and the locks that it leaves out. */
export function tellSearch(
  { locks, fleet, presenceIsUnwell, unreadable }: LocksSeen,
  selection: Selection,
  { asked: { sources }, settings }: AskedSearch,
): readonly string[] {
  const where = tellSources(sources, fleet.clients.length, settings.maxKeys);
  const shown = selection.locks.length;
  const lines = [`${tellCount(shown + selection.more, locks.length)} ${where}`];
  if (selection.more > 0) {
    const how = settings.everyMs === undefined ? `: --limit ${shown + selection.more}` : "";
    lines.push(`${selection.more} more ${selection.more === 1 ? "is" : "are"} not shown${how}`);
  }
  const blind = tellBlindness(sources);
  if (blind !== undefined) lines.push(blind);
  if (unreadable > 0)
    lines.push(
      `not listed: ${unreadable === 1 ? "1 key whose name is" : `${unreadable} keys whose names are`} not UTF-8; no lock of holdfast has such a name`,
    );
  lines.push(...tellNameless(selection.locks, fleet));
  const name = settings.match === undefined ? undefined : exactName(settings.match);
  if (shown === 0 && name !== undefined) lines.push(`holdfast show looks up "${name}" by its name`);
  if (presenceIsUnwell) lines.push(UNWELL);
  if (fleet.truncated) lines.push("there are more clients than holdfast reads: their locks may be missing");
  return lines;
}

export const UNWELL: string =
  "more than half of the programs fell silent at once: presence itself has failed, so no lock is listed as stale";

/** How to get names for holders that have none. */
function tellNameless(locks: readonly WatchedLock[], { clients }: Fleet): readonly string[] {
  const nameless = locks.filter(({ holders }) =>
    holders.some(({ by, client }) => by === "holdfast" && client === null),
  ).length;
  if (nameless === 0) return [];
  const what = nameless === 1 ? "1 lock is" : `${nameless} locks are`;
  const whose =
    clients.length === 0
      ? "of programs without presence, which is off by default"
      : "of programs without presence";
  return [`${what} ${whose}. ${PRESENCE_HINT}`];
}

/** For example `presence (14 clients) and channels`. @param maxKeys how many keys a scan reads at most */
export function tellSources(sources: readonly LockSource[], clients: number, maxKeys = MAX_KEYS): string {
  const names: Readonly<Record<LockSource, string>> = {
    presence: `presence (${clients === 1 ? "1 client" : `${clients} clients`})`,
    channels: "channels",
    scan: `a scan of up to ${maxKeys.toLocaleString("en")} keys`,
  };
  const told = sources.map((source) => names[source]);
  const last = told.pop() ?? "";
  return told.length === 0 ? last : `${told.join(", ")} and ${last}`;
}

function tellCount(shown: number, found: number): string {
  const locks = (count: number) => (count === 1 ? "1 lock" : `${count} locks`);
  if (found === 0) return "no lock found in";
  if (shown === found) return `${locks(shown)}, from`;
  return shown === 0 ? `none of ${locks(found)} matches, from` : `${shown} of ${locks(found)}, from`;
}

function tellBlindness(sources: readonly LockSource[]): string | undefined {
  if (sources.includes("scan"))
    return "not listed: plain semaphores and latches without a waiter; show finds them by name";
  const whose = sources.includes("presence")
    ? ", if they are held only briefly, by a JVM, or by a client without presence"
    : "";
  return `not listed: locks without a waiter${whose}; --scan finds them`;
}
