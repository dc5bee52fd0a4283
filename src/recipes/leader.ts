import { checkBody, checkObject, checkSignal, duration, known, refuseUnknown } from "../checks.js";
import { type Clock, pause, systemClock } from "../clock.js";
import { type Holdfast, HoldfastError } from "../index.js";
import { either } from "./either.js";
import { comesOf, runTerm, type Term } from "./term.js";

/** How a process stands for leader. */
export interface LeaderOptions {
  /** The name of the office, and of its fenced lock, also for JVMs. */
  readonly name: string;
  /**
   * How long the office stays taken at most after its leader has crashed, in milliseconds; a watchdog's lease, like `watchdogMs` of a lock.
   * Default: 10 000.
   */
  readonly ttlMs?: number | undefined;
  /** How long this process waits before it stands again, after a term or when Redis did not answer, in milliseconds. Default: 1 000. */
  readonly pauseMs?: number | undefined;
  /** Resigns, and ends the call: a running term's signal aborts with the same reason. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Gets the error that ended a term, or that kept this process from standing for election: for example an outage of Redis, or a lost
   * lease. The election is retried. Default: errors are ignored.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Time; a fake clock for tests. Default: the clock of the process. */
  readonly clock?: Clock | undefined;
}

const OPTIONS = known<LeaderOptions>("option", "leader", {
  name: true,
  ttlMs: true,
  pauseMs: true,
  signal: true,
  onError: true,
  clock: true,
});
const TTL_MS = 10_000;
const PAUSE_MS = 1_000;
/** The codes of errors after which the process stands again. */
const PASSING: readonly string[] = [
  "ERR_HOLDFAST_UNAVAILABLE",
  "ERR_HOLDFAST_NOT_REPLICATED",
  "ERR_HOLDFAST_LEASE_LOST",
];

/**
 * Stands for leader again and again: one process at a time has the office, and runs the body for a term. When the body returns, its process
 * resigns, and other processes go first. A successor learns of a resignation by a message, and of a crash within `ttlMs`. Ends when
 * `signal` aborts or the client begins to close, after the running body.
 *
 * @example
 * await leader(holdfast, { name: "scheduler", signal }, async (term) => {
 *   while (!term.signal.aborted) await schedule(term.token);
 * });
 * @throws the error of a body that has failed, except an abort of its signal; WrongTypeError, TypeError, RangeError, InvalidNameError
 * @see docs/guide/recipes.md
 */
export async function leader(
  holdfast: Holdfast,
  options: LeaderOptions,
  body: (term: Term) => unknown,
): Promise<void> {
  checkObject("options", options, '{ name: "scheduler" }');
  const {
    name,
    ttlMs = TTL_MS,
    pauseMs = PAUSE_MS,
    signal,
    onError,
    clock = systemClock,
    ...unknown
  } = options;
  refuseUnknown(OPTIONS, unknown);
  checkBody("leader", body);
  if (onError !== undefined) checkBody("onError", onError);
  duration("pauseMs", pauseMs, 0);
  checkSignal(signal);
  const stop = either(signal, holdfast.closing);
  const lock = holdfast.getFencedLock(name);
  const terms = { watchdogMs: ttlMs, waitMs: Number.POSITIVE_INFINITY, signal: stop.signal };
  try {
    while (!stop.signal.aborted) {
      const report = (error: unknown) => {
        if (!stop.signal.aborted || !comesOf(error, stop.signal)) onError?.(error);
      };
      await lock
        .using(terms, (lease) => runTerm(lease, stop.signal, body, report))
        .then(
          ({ failure }) => {
            if (failure !== undefined) throw failure.error;
          },
          (error: unknown) => {
            if (!stop.signal.aborted && !passes(error)) throw error;
            report(error);
          },
        );
      await pause(clock, pauseMs, stop.signal);
    }
  } finally {
    stop.end();
  }
}

function passes(error: unknown): boolean {
  return error instanceof HoldfastError && PASSING.includes(error.code);
}
