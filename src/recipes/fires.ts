import { duration, shown } from "../checks.js";
import type { Clock } from "../clock.js";
import type { Holdfast } from "../index.js";

/** The finest resolution of cron schedules. */
const GRID_MS = 1_000;
/** Timers may be a millisecond early, and corrections of the clock are some milliseconds. */
const EARLY_MS = 500;
/** The most that the clocks of two processes may differ, including the time until each of them asks. */
const SKEW_MS = 60_000;
export const REMEMBERED_MS: number = 24 * 60 * 60 * 1_000;

/** When a schedule wants a run: a Date, or milliseconds since the Unix epoch. */
// biome-ignore lint/style/noRestrictedGlobals: the type of a time that other code has read from a clock.
export type FireTime = Date | number;

/** One fire of a schedule. */
export interface Fire {
  /** Of the schedule. */
  readonly name: string;
  /** In milliseconds since the Unix epoch, whole seconds. */
  readonly atMs: number;
  /** How long to remember that a fire has begun. */
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
  // Rounding makes a fire up to `gridMs` older, and a fire older than `rememberMs` is not run.
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

/** Whether the fire may have begun and may already be forgotten. */
export function isForgotten({ atMs, rememberMs }: Fire, clock: Clock): boolean {
  return clock.wallMs() - atMs >= rememberMs;
}

/**
 * Marks a fire as begun. The first process to do so gets `true`. The key of a fire is set once and expires, whatever the clocks of the
 * processes say. If Redis does not answer, the fire may be marked. It is then lost, because it must not run twice.
 * @throws UnavailableError, ClientClosedError
 */
export function beginFire(holdfast: Holdfast, { name, atMs, rememberMs }: Fire): Promise<boolean> {
  return beginOnce(holdfast, name, `:${atMs / 1_000}`, rememberMs + SKEW_MS);
}

/** Like {@link beginFire}, for anything with a name. */
export function beginOnce(
  holdfast: Holdfast,
  name: string,
  ending: string,
  rememberMs: number,
): Promise<boolean> {
  return holdfast.getSemaphore(markPrefix(name) + ending).trySetPermits(1, { ttlMs: rememberMs });
}

/** The prefix of the names of all marks of one job. They are in the slot of the job's lock. */
export function markPrefix(name: string): string {
  return name.includes("{") ? `holdfast_once:${name}` : `holdfast_once:{${name}}`;
}
