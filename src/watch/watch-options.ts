import { checkCount, checkObject, checkSignal, known, refuseUnknown } from "../checks.js";
import { type Clock, systemClock } from "../clock.js";
import type { FindLocksOptions, LockSource } from "../index.js";

/** How to look at locks again and again. */
export interface WatchOptions extends Pick<FindLocksOptions, "match" | "group" | "limit" | "maxKeys"> {
  /** The pause between two looks, in milliseconds, from 500 to 60 000. Default: 2 000. */
  readonly everyMs?: number;
  /** Where to look for names. Default: `["presence", "channels"]`. */
  readonly sources?: readonly LockSource[];
  /** Ends the loop, which rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Time; a fake clock for tests. Default: the clock of the process. */
  readonly clock?: Clock;
}

/** The options with every default filled in. */
export interface WatchSettings {
  readonly everyMs: number;
  readonly find: FindLocksOptions;
  readonly group: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly clock: Clock;
}

const EVERY_MS = 2_000;
const SHORTEST_EVERY_MS = 500;
const LONGEST_EVERY_MS = 60_000;
const SOURCES: readonly LockSource[] = ["presence", "channels"];

const WATCH_OPTIONS = known<WatchOptions>("option", "watchLocks", {
  everyMs: true,
  sources: true,
  match: true,
  group: true,
  limit: true,
  maxKeys: true,
  signal: true,
  clock: true,
});

/** Checks the options that `locks()` and `fleet()` do not check. @throws TypeError, RangeError */
export function watchSettings(options: WatchOptions): WatchSettings {
  checkObject("options", options, "{ everyMs: 2_000 }");
  const {
    everyMs = EVERY_MS,
    sources = SOURCES,
    match,
    group,
    limit,
    maxKeys,
    signal,
    clock = systemClock,
    ...unknown
  } = options;
  refuseUnknown(WATCH_OPTIONS, unknown);
  checkCount("everyMs", everyMs, SHORTEST_EVERY_MS, LONGEST_EVERY_MS);
  checkSignal(signal);
  const find = {
    sources,
    ...(match === undefined ? {} : { match }),
    ...(group === undefined ? {} : { group }),
    ...(limit === undefined ? {} : { limit }),
    ...(maxKeys === undefined ? {} : { maxKeys }),
    ...(signal === undefined ? {} : { signal }),
  };
  return { everyMs, find, group, signal, clock };
}
