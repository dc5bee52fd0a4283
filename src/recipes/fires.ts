import { duration, shown } from "../checks.js";
import type { Clock } from "../clock.js";
import type { Holdfast } from "../index.js";

/** The finest that schedules of cron know. */
const GRID_MS = 1_000;
/** Timers may be early by a millisecond, and clocks are set by some. */
const EARLY_MS = 500;
/** So much may the clocks of two processes differ, together with what they need until they ask. */
const SKEW_MS = 60_000;
export const REMEMBERED_MS: number = 24 * 60 * 60 * 1_000;

/** When a schedule wants a run: a Date, or milliseconds since the Unix epoch. */
// biome-ignore lint/style/noRestrictedGlobals: the type of what others have read from a clock.
export type FireTime = Date | number;

/** One fire of a schedule. */
export interface Fire {
  /** Of the schedule. */
  readonly name: string;
  /** In milliseconds since the Unix epoch, whole seconds. */
  readonly atMs: number;
  /** How long is remembered that it was begun. */
  readonly rememberMs: number;
}

/** As the options of `runOnce`. */
export interface FireTerms {
  readonly gridMs?: number | undefined;
  readonly rememberMs?: number | undefined;
}

/** @throws TypeError, RangeError */
export function fireOf(
  name: string,
  fireTime: FireTime,
  clock: Clock,
  { gridMs = GRID_MS, rememberMs = REMEMBERED_MS }: FireTerms = {},
): Fire {
  duration("gridMs", gridMs, GRID_MS);
  duration("rememberMs", rememberMs, 1);
  if (gridMs % GRID_MS !== 0)
    throw new RangeError(`gridMs must be whole seconds in milliseconds, as 60_000, got ${gridMs}`);
  // A fire is rounded down by up to as much, and is not run where it may be forgotten.
  if (gridMs > rememberMs)
    throw new RangeError(`gridMs must be at most rememberMs, got ${gridMs} and ${rememberMs}`);
  const ms = Number(fireTime);
  const isTime = typeof fireTime === "number" || Object.prototype.toString.call(fireTime) === "[object Date]";
  if (!isTime || !Number.isFinite(ms)) {
    throw new TypeError(
      `fireTime must be a valid Date, or milliseconds since the Unix epoch, got ${shown(fireTime)}`,
    );
  }
  const aheadMs = ms - clock.wallMs();
  if (aheadMs > SKEW_MS) {
    throw new RangeError(
      `fireTime must not lie more than ${SKEW_MS} ms ahead of this process's clock, got ${aheadMs} ms ahead`,
    );
  }
  return {
    name,
    atMs: Math.floor((ms + EARLY_MS) / gridMs) * gridMs,
    rememberMs,
  };
}

/** Whether it may have been begun, and be forgotten by now. */
export function isForgotten({ atMs, rememberMs }: Fire, clock: Clock): boolean {
  return clock.wallMs() - atMs >= rememberMs;
}

/**
 * Marks a fire as begun: the first of all processes that do is told `true`. The key of a fire is set once and expires, whatever the clocks of
 * the processes say. Where Redis does not answer the fire may be marked: it is lost then, as nothing may run it twice.
 * @throws UnavailableError, ClientClosedError
 */
export function beginFire(holdfast: Holdfast, { name, atMs, rememberMs }: Fire): Promise<boolean> {
  return beginOnce(holdfast, name, `:${atMs / 1_000}`, rememberMs + SKEW_MS);
}

/** The same of anything that has a name. */
export function beginOnce(
  holdfast: Holdfast,
  name: string,
  ending: string,
  rememberMs: number,
): Promise<boolean> {
  return holdfast.getSemaphore(markPrefix(name) + ending).trySetPermits(1, { ttlMs: rememberMs });
}

/** What the names of all marks of one job begin with. They are in the slot of its lock. */
export function markPrefix(name: string): string {
  return name.includes("{") ? `holdfast_once:${name}` : `holdfast_once:{${name}}`;
}
