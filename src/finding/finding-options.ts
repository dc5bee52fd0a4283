import { checkCount, checkObject, checkSignal, known, refuseUnknown, shown } from "../checks.js";
import { checkGroup } from "../presence/presence-options.js";

/** Where to look for the names of locks; see docs/guide/finding-locks.md. */
export type LockSource = "presence" | "channels" | "scan";

/** Which locks to list, and how to look for them. */
export interface FindLocksOptions {
  /**
   * Where to look for names: the presence of the fleet's clients, the channels with a listener, all keys of the servers. Default:
   * `["presence"]`.
   */
  readonly sources?: readonly LockSource[];
  /** The group whose presence is read. Default: the group of this client's presence, else `default`. */
  readonly group?: string;
  /** A glob that names must match: `*`, `?`, `[a-z]`, `\\*`. 1 000 characters at most; it is never sent to Redis. Default: all names. */
  readonly match?: string;
  /** How many locks to list at most. Default: all. */
  readonly limit?: number;
  /** A scan ends after about this many keys, counted over all servers. Default: 1 000 000. */
  readonly maxKeys?: number;
  /** Ends the search: the loop rejects with its reason. */
  readonly signal?: AbortSignal;
}

/** The options with every default filled in. */
export interface FindSettings {
  readonly sources: readonly LockSource[];
  readonly group: string | undefined;
  readonly match: string | undefined;
  readonly limit: number;
  readonly maxKeys: number;
  readonly signal: AbortSignal | undefined;
}

const ALL: readonly LockSource[] = ["presence", "channels", "scan"];
const MOST = 1_000_000_000;
/** At 50 steps a second of 200 keys each, the search spends less than two minutes on one server. */
const MOST_KEYS = 1_000_000;
/** Matching takes steps: one step compares about thirty places of the pattern with one character of the name. */
const LONGEST_MATCH = 1_000;

const FIND_OPTIONS = known<FindLocksOptions>("option", "locks", {
  sources: true,
  group: true,
  match: true,
  limit: true,
  maxKeys: true,
  signal: true,
});

/** @throws TypeError, RangeError */
export function findSettings(options: FindLocksOptions): FindSettings {
  checkObject("options", options);
  const { sources = ["presence"], group, match, limit, maxKeys, signal, ...unknown } = options;
  refuseUnknown(FIND_OPTIONS, unknown);
  checkSources(sources);
  if (group !== undefined) checkGroup("group", group);
  checkMatch(match);
  if (limit !== undefined) checkCount("limit", limit, 1, MOST);
  if (maxKeys !== undefined) checkCount("maxKeys", maxKeys, 1, MOST);
  checkSignal(signal);
  return {
    sources: ALL.filter((source) => sources.includes(source)),
    group,
    match,
    limit: limit ?? Number.POSITIVE_INFINITY,
    maxKeys: maxKeys ?? MOST_KEYS,
    signal,
  };
}

function checkSources(sources: readonly LockSource[]): void {
  const names = ALL.map((name) => `"${name}"`).join(", ");
  if (!Array.isArray(sources))
    throw new TypeError(`sources must be a list of ${names}, got ${shown(sources)}`);
  if (sources.length === 0) throw new RangeError(`sources must name at least one of ${names}`);
  const wrong: unknown = sources.find((source) => !ALL.includes(source));
  if (wrong !== undefined)
    throw new TypeError(`there is no source ${shown(wrong)}; the sources of locks are ${names}`);
}

function checkMatch(match: string | undefined): void {
  if (match === undefined) return;
  if (typeof match !== "string") throw new TypeError(`match must be a string, got ${shown(match)}`);
  if (match.length > LONGEST_MATCH)
    throw new RangeError(`match must have at most ${LONGEST_MATCH} characters, got ${match.length}`);
}
