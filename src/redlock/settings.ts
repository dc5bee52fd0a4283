import { duration } from "../checks.js";

/** The settings of a Redlock, which a single call can override. As in redlock 5, a value that is not a number counts as missing. */
export interface Settings {
  /** By so much of its duration a lock is believed to end earlier. Default: 0.01. */
  readonly driftFactor: number;
  /**
   * With `retryDelay`: a call waits for as long as so many of those pauses take, and sleeps until it is told that the lock is free. -1: for
   * ever; 0: not at all. Default: 10.
   */
  readonly retryCount: number;
  /** In milliseconds. While a real redlock has the lock, it is requested again at this interval, because redlock sends no message at its release. Default: 200. */
  readonly retryDelay: number;
  /** So many milliseconds at most are added to, or taken from, each `retryDelay` that is slept through. Default: 100. */
  readonly retryJitter: number;
  /** `using` refuses a duration that is not longer than that by 100 ms, and renews its lock otherwise: each third of the duration. In milliseconds. Default: 500. */
  readonly automaticExtensionThreshold: number;
  /** Whether the release of a lock that has ended before rejects, as that of redlock does. Not of redlock. Default: `false`, it is told as an event. */
  readonly strictRelease?: boolean;
}

const DEFAULTS: Settings = {
  driftFactor: 0.01,
  retryCount: 10,
  retryDelay: 200,
  retryJitter: 100,
  automaticExtensionThreshold: 500,
};
const NUMBERS = Object.keys(DEFAULTS) as readonly (keyof Settings)[];
const FOR_EVER = -1;
/** A thousand days: a longer duration means for ever. */
const LONGEST_WAIT_MS = 1_000 * 86_400_000;
/** Redis' clock has whole milliseconds, and so has that of the process. */
const ROUNDING_MS = 2;

export function settingsOf(given: Partial<Settings> | undefined, base: Settings = DEFAULTS): Settings {
  const numbers = NUMBERS.filter((name) => typeof given?.[name] === "number");
  const { strictRelease = base.strictRelease ?? false } = given ?? {};
  return { ...base, ...Object.fromEntries(numbers.map((name) => [name, given?.[name]])), strictRelease };
}

/** For how long a call waits, in milliseconds: as the tries of redlock take on average. */
export function waitMsOf({ retryCount, retryDelay, retryJitter }: Settings): number {
  if (retryCount === FOR_EVER || retryCount === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
  const waitMs = Math.round(retryCount * meanPauseMs(retryDelay, retryJitter));
  if (waitMs > LONGEST_WAIT_MS) return Number.POSITIVE_INFINITY;
  // A negative number of tries, or a value that is not a number, counts as zero.
  return Math.max(0, waitMs || 0);
}

/** A pause that the jitter would make shorter than nothing is none, so that a jitter above the delay makes them longer on average. */
function meanPauseMs(delayMs: number, jitterMs: number): number {
  return jitterMs > Math.abs(delayMs) ? (delayMs + jitterMs) ** 2 / (4 * jitterMs) : delayMs;
}

export function driftMsOf({ driftFactor }: Settings, durationMs: number): number {
  return Math.round(driftFactor * durationMs) + ROUNDING_MS;
}

/** @throws Error, as redlock 5 does; RangeError, TypeError */
export function checkDuration(ms: number): void {
  if (Math.floor(ms) !== ms) throw new Error("Duration must be an integer value in milliseconds.");
  duration("duration", ms, 1);
}
