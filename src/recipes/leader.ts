import { checkBody, checkObject, checkSignal, duration, known, refuseUnknown } from "../checks.js";
import { type Clock, pause, systemClock } from "../clock.js";
import { type ClientPresence, type FencedLease, type Holdfast, HoldfastError } from "../index.js";
import { either } from "./either.js";

/** How a process stands for leader. */
export interface LeaderOptions {
  /** Of the office, and of the fenced lock that it is: for JVMs as well. */
  readonly name: string;
  /** For so long at most the office stays taken after its leader has crashed, in milliseconds; a watchdog's lease, as `watchdogMs` of a lock. Default: 10 000. */
  readonly ttlMs?: number | undefined;
  /** How long this process waits before it stands again, after a term or when Redis did not answer, in milliseconds. Default: 1 000. */
  readonly pauseMs?: number | undefined;
  /** Resigns, and ends the call: the signal of a running term aborts with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Is told what has ended a term or kept this process from standing, and is tried again: Redis that does not answer, a lost lease. Default: nothing is told. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Time; a fake one for tests. Default: that of the process. */
  readonly clock?: Clock | undefined;
}

/** A time for which one process is the leader. */
export interface Term {
  /** Greater than that of each term before, in whichever process: pass it along with each write, so that the store can refuse a former leader's. */
  readonly token: bigint;
  /**
   * Aborts when the term is lost, before another can begin, and when this process is to resign: its own signal has aborted, or the client
   * begins to close. In the second case the office is kept until the body has ended.
   */
  readonly signal: AbortSignal;
  readonly lease: FencedLease;
}

/** Who is the leader, as Redis has it. */
export interface CurrentLeader {
  /** As stored in Redis. */
  readonly holder: string;
  readonly token: bigint | null;
  /** Its process, where that has presence; null otherwise. */
  readonly client: ClientPresence | null;
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
/** What passes by itself. */
const PASSING: readonly string[] = [
  "ERR_HOLDFAST_UNAVAILABLE",
  "ERR_HOLDFAST_NOT_REPLICATED",
  "ERR_HOLDFAST_LEASE_LOST",
];

/**
 * Stands for leader again and again: one process of those that call it has the office at a time, and runs the body for a term. A body that
 * returns resigns; others come before this process stands again. A successor hears of a resignation by a message, of a crash within `ttlMs`.
 * Ends when `signal` aborts or the client begins to close, after the running body.
 *
 * @example
 * await leader(holdfast, { name: "scheduler", signal }, async ({ token, signal }) => {
 *   while (!signal.aborted) await schedule({ token, signal });
 * });
 * @throws the error of a body that has failed, but not for an abort of its signal; WrongTypeError, TypeError, RangeError, InvalidNameError
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
      const report = (error: unknown) => void (error !== stop.signal.reason && onError?.(error));
      await lock
        .using(terms, (lease) => term(lease, stop.signal, body, report))
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

/** Asks Redis and presence who has the office. @throws as `inspect` and `fleet` of a client */
export async function currentLeader(holdfast: Holdfast, name: string): Promise<CurrentLeader | null> {
  const [{ holders, token, kept }, { clients }] = await Promise.all([
    holdfast.inspect(name),
    holdfast.fleet(),
  ]);
  const [holder] = holders;
  if (holder === undefined || kept) return null;
  return { holder, token, client: clients.find(({ id }) => holder.startsWith(`${id}:`)) ?? null };
}

/** @returns what the body has thrown while it was the leader. What it throws once it was to end is reported */
async function term(
  lease: FencedLease,
  stop: AbortSignal,
  body: (term: Term) => unknown,
  report: (error: unknown) => void,
): Promise<{ readonly failure?: { readonly error: unknown } }> {
  const { signal, end } = either(lease.signal, stop);
  try {
    await body({ token: lease.token, lease, signal });
    return {};
  } catch (error) {
    if (!signal.aborted) return { failure: { error } };
    if (error !== signal.reason) report(error);
    return {};
  } finally {
    end();
  }
}

function passes(error: unknown): boolean {
  return error instanceof HoldfastError && PASSING.includes(error.code);
}
