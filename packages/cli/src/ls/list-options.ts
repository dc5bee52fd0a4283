import { InvalidArgumentError, Option } from "commander";
import type { LockSource } from "holdfast";
import type { CommonOptions } from "../command.js";
import { readDuration } from "../duration.js";
import { mistake } from "../failure.js";
import { type HexOption, hexOption } from "../hex-names.js";

/** The options of `ls` as commander reads them. */
export interface ListOptions extends CommonOptions, HexOption {
  readonly stale?: boolean;
  readonly waiting?: boolean;
  readonly olderThan?: string;
  readonly client?: string;
  readonly scan?: boolean;
  readonly maxKeys?: number;
  readonly sort: Sort;
  readonly limit?: number;
  readonly watch?: string | true;
}

export type Sort = "age" | "waiting" | "name";

/** Which locks to list, and how. */
export interface ListSettings {
  readonly match: string | undefined;
  readonly sources: readonly LockSource[];
  readonly maxKeys: number | undefined;
  readonly stale: boolean;
  readonly waiting: boolean;
  readonly olderThanMs: number;
  /** In lower case; "" for all locks. */
  readonly client: string;
  readonly sort: Sort;
  readonly limit: number;
  /** The pause before the next look; undefined: one look. */
  readonly everyMs: number | undefined;
}

/** How many keys `--scan` reads by default, as in holdfast. */
export const MAX_KEYS = 1_000_000;

const LIMIT = 50;
const EVERY_MS = 2_000;
const SHORTEST_EVERY_MS = 500;
const LONGEST_EVERY_MS = 60_000;
/** Holdfast refuses longer patterns. */
const LONGEST_PATTERN = 1_000;
const MOST = 1_000_000_000;

/** Makes new options for each program, because commander keeps the values that it has read. */
export function listOptions(): readonly Option[] {
  const options = [
    new Option(
      "--stale",
      "only locks whose holders are gone and which nothing renews, permits of such clients, and keys without a TTL; takes at least 11 s",
    ),
    new Option("--waiting", "only locks that calls wait for"),
    new Option("--older-than <duration>", "only locks that have been held for longer than this"),
    new Option(
      "--client <text>",
      "only locks that a matching client holds or waits for: app, host, pid, label or id",
    ),
    new Option("--sort <by>", "age, waiting or name").choices(["age", "waiting", "name"]).default("age"),
    new Option("--limit <n>", `the most locks to list (${LIMIT}; with --json all)`).argParser(readCount),
    new Option("--scan", "also scan all keys of Redis, 200 at a time, 50 times a second"),
    new Option("--max-keys <n>", `the most keys that --scan reads (${MAX_KEYS})`).argParser(readCount),
    hexOption(),
    new Option("--watch [duration]", `repeat (${EVERY_MS / 1_000}s); q ends`),
  ];
  return options.map((option) => option.helpGroup("Which locks:"));
}

/** @throws Failure for invalid options */
export function listSettings(options: ListOptions, pattern: string | undefined): ListSettings {
  const { stale = false, waiting = false, scan = false, client = "", json = false, maxKeys, watch } = options;
  checkPattern(pattern);
  if (maxKeys !== undefined && !scan) throw mistake("--max-keys needs --scan");
  if (watch !== undefined && scan)
    throw mistake("--scan is for a single search: repeated scans of all keys slow Redis down");
  if (watch !== undefined && json)
    throw mistake("--watch redraws a table: holdfast watch --json prints changes, one object per line");
  return {
    match: pattern,
    sources: scan ? ["presence", "channels", "scan"] : ["presence", "channels"],
    maxKeys,
    stale,
    waiting,
    olderThanMs: options.olderThan === undefined ? 0 : readDuration("--older-than", options.olderThan),
    client: client.toLowerCase(),
    sort: options.sort,
    limit: options.limit ?? (json ? Number.POSITIVE_INFINITY : LIMIT),
    everyMs: watch === undefined ? undefined : readEvery(watch),
  };
}

/** @throws Failure */
export function checkPattern(pattern: string | undefined): void {
  if (pattern === "") throw mistake("a pattern must not be empty: leave it out for all names");
  if (pattern !== undefined && pattern.length > LONGEST_PATTERN)
    throw mistake(`a pattern must have at most ${LONGEST_PATTERN} characters, got ${pattern.length}`);
}

function readEvery(watch: string | true): number {
  if (watch === true) return EVERY_MS;
  const everyMs = readDuration("--watch", watch, { atLeastMs: SHORTEST_EVERY_MS });
  if (everyMs > LONGEST_EVERY_MS) throw mistake(`--watch must be at most 60s, got ${watch}`);
  return everyMs;
}

function readCount(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1 || count > MOST)
    throw new InvalidArgumentError("It must be a whole number from 1 on.");
  return count;
}
