import { duration } from "../checks.js";

/** The settings of a Redlock, which a single call can override. As in redlock 5, a value that is not a number counts as missing. */
export interface Settings {
  /** How much earlier a lock counts as ended, as a share of its duration. Default: 0.01. */
  readonly driftFactor: number;
  /**
   * A call waits for at most this many pauses of `retryDelay`, and tries again when a message says that the lock is free. -1: for ever; 0:
   * not at all. Default: 10.
   */
  readonly retryCount: number;
  /**
   * In milliseconds. While a real redlock has the lock, calls request it again at this interval, because redlock sends no message at a
   * release. Default: 200.
   */
  readonly retryDelay: number;
  /** At most this many milliseconds are added to, or taken from, each pause of `retryDelay`. Default: 100. */
  readonly retryJitter: number;
  /**
   * In milliseconds. `using` refuses a duration below this value plus 100 ms. Otherwise the setting has no effect: `using` renews its lock
   * every third of the duration. Default: 500.
   */
  readonly automaticExtensionThreshold: number;
  /**
   * Whether the release of a lock that had already ended rejects, as in redlock. Not a setting of redlock. Default: `false`, an event
   * reports it.
   */
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
/** The clocks of Redis and of the process have whole milliseconds. */
const ROUNDING_MS = 2;

export function settingsOf(given: Partial<Settings> | undefined, base: Settings = DEFAULTS): Settings {
  const numbers = NUMBERS.filter((name) => typeof given?.[name] === "number");
  const { strictRelease = base.strictRelease ?? false } = given ?? {};
  return { ...base, ...Object.fromEntries(numbers.map((name) => [name, given?.[name]])), strictRelease };
}

/** How long a call waits, in milliseconds: the average time of redlock's tries. */
export function waitMsOf({ retryCount, retryDelay, retryJitter }: Settings): number {
  if (retryCount === FOR_EVER || retryCount === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
  const waitMs = Math.round(retryCount * meanPauseMs(retryDelay, retryJitter));
  if (waitMs > LONGEST_WAIT_MS) return Number.POSITIVE_INFINITY;
  // A negative number of tries, or a value that is not a number, counts as zero.
  return Math.max(0, waitMs || 0);
}

/** A pause cannot be negative, so a jitter above the delay makes pauses longer on average. */
function meanPauseMs(delayMs: number, jitterMs: number): number {
  return jitterMs > Math.abs(delayMs) ? (delayMs + jitterMs) ** 2 / (4 * jitterMs) : delayMs;
}

export function driftMsOf({ driftFactor }: Settings, durationMs: number): number {
  return Math.round(driftFactor * durationMs) + ROUNDING_MS;
}

/** @throws Error, like redlock 5; RangeError, TypeError */
export function checkDuration(ms: number): void {
  if (Math.floor(ms) !== ms) throw new Error("Duration must be an integer value in milliseconds.");
  duration("duration", ms, 1);
}
