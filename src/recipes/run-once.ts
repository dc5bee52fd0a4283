import { checkBody, checkObject, checkSignal, duration, known, refuseUnknown } from "../checks.js";
import { type Clock, systemClock } from "../clock.js";
import type { Holdfast, Lease, LockOptions } from "../index.js";
import { type BusyOptions, type OnBusy, onBusyOf } from "./busy.js";
import { beginFire, type Fire, type FireTime, fireOf, isForgotten } from "./fires.js";

/** How to run a job that all processes of a fleet start, but only one may do. */
export interface RunOnceOptions extends BusyOptions {
  /** The name of the job, and of its lock, also for JVMs. */
  readonly name: string;
  /**
   * When the schedule wanted this run, as a Date or in milliseconds since the Unix epoch: the same in all processes. A fire that has begun
   * anywhere never begins again, even if its process died. Default: none. The lock alone then decides, and a process whose clock is late
   * may run a short job again: set `atLeastMs` then.
   */
  readonly fireTime?: FireTime | undefined;
  /**
   * For a scheduler that passes the time of its call instead of the scheduled time: rounds `fireTime` down to a multiple of this many
   * milliseconds, in UTC. A call may be half a second early, or late by nearly `gridMs`. 60 000 for a schedule of whole minutes, such
   * as `0 2 * * *`. Whole seconds, at most `rememberMs`. Default: 1 000, for schedulers that pass the scheduled time.
   */
  readonly gridMs?: number | undefined;
  /** How long the start of a fire is remembered, in milliseconds; an older fire is not run. Default: a day. */
  readonly rememberMs?: number | undefined;
  /**
   * The lock stays taken for at least this many milliseconds from the start of the run, even if the run ends sooner. Default: no longer
   * than the run.
   */
  readonly atLeastMs?: number | undefined;
  /** The run is lost after this many milliseconds: its signal aborts, and another run may begin. Default: never, the lock is renewed. */
  readonly atMostMs?: number | undefined;
  /** How to react while an earlier run, or a run of another process, goes on. Default: `skip`. With `wait` give `waitMs`. */
  readonly onBusy?: OnBusy | undefined;
  /** Cancels the wait: the call rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Time; a fake clock for tests. Default: the clock of the process. */
  readonly clock?: Clock | undefined;
}

/** The outcome of a run. */
export type Once<T> =
  | { readonly ran: true; readonly value: T }
  /**
   * `busy`: another run goes on, or the lock is kept for its `atLeastMs`; `done`: this fire has already begun; `late`: it is older than
   * `rememberMs`, so its start may be forgotten.
   */
  | { readonly ran: false; readonly because: "busy" | "done" | "late"; readonly value?: undefined };

const OPTIONS = known<RunOnceOptions>("option", "runOnce", {
  name: true,
  fireTime: true,
  gridMs: true,
  rememberMs: true,
  atLeastMs: true,
  atMostMs: true,
  onBusy: true,
  waitMs: true,
  signal: true,
  clock: true,
});

interface Job {
  readonly name: string;
  readonly fire: Fire | undefined;
  readonly atLeastMs: number;
  readonly skips: boolean;
  readonly lockOptions: LockOptions;
  readonly clock: Clock;
}

/**
 * Runs a job in one of all processes that call it: a cron job in a fleet. The lock is renewed while the job runs, and ends some seconds
 * after its process has died. With `fireTime` each fire runs at most once. A fire is lost if its process dies, or if Redis does not answer
 * or the lock is lost just as the fire begins.
 *
 * @example
 * cron.schedule("0 2 * * *", ({ date }) =>
 *   runOnce(holdfast, { name: "nightly", fireTime: date }, async (lease) => {
 *     await report({ signal: lease.signal });
 *   }),
 * );
 * @param body gets the lease: its signal aborts when the lock is lost
 * @throws the error of the body, or LeaseLostError if the lock was lost while it ran; WaitTimeoutError with `onBusy` `throw` or `wait`;
 * UnavailableError, ReentryError inside a run of the same name, ClientClosedError; TypeError, RangeError, InvalidNameError
 * @see docs/guide/recipes.md
 */
export async function runOnce<T>(
  holdfast: Holdfast,
  options: RunOnceOptions,
  body: (lease: Lease) => T | Promise<T>,
): Promise<Once<T>> {
  const job = jobOf(options);
  checkBody("runOnce", body);
  const { name, fire, clock } = job;
  if (fire !== undefined && isForgotten(fire, clock)) return { ran: false, because: "late" };
  const lock = holdfast.getNonReentrantLock(name);
  const run = async (lease: Lease): Promise<Once<T>> => {
    if (fire !== undefined && !(await beginFire(holdfast, fire))) return { ran: false, because: "done" };
    lease.assertHeld();
    const startMs = clock.monotonicMs();
    try {
      return { ran: true, value: await body(lease) };
    } finally {
      await keepOn(lease, job.atLeastMs - (clock.monotonicMs() - startMs));
    }
  };
  if (job.skips) {
    const tried = await lock.tryUsing(job.lockOptions, run);
    return tried.ran ? tried.value : { ran: false, because: "busy" };
  }
  return lock.using(job.lockOptions, run);
}

/** If the release fails, `using` reports a lost lease, and the lock ends earlier or later than requested. */
async function keepOn(lease: Lease, ms: number): Promise<void> {
  if (ms > 0) await lease.unlock({ keepForMs: Math.ceil(ms) }).catch(() => undefined);
}

/** @throws TypeError, RangeError */
function jobOf(options: RunOnceOptions): Job {
  checkObject("options", options, '{ name: "nightly" }');
  const {
    name,
    fireTime,
    gridMs,
    rememberMs,
    atLeastMs,
    atMostMs,
    onBusy,
    waitMs,
    signal,
    clock,
    ...unknown
  } = options;
  refuseUnknown(OPTIONS, unknown);
  checkSignal(signal);
  duration("atLeastMs", atLeastMs, 0);
  duration("atMostMs", atMostMs, 1);
  if (atLeastMs !== undefined && atMostMs !== undefined && atLeastMs > atMostMs)
    throw new RangeError(`atLeastMs must be at most atMostMs, got ${atLeastMs} and ${atMostMs}`);
  for (const [option, value] of Object.entries({ gridMs, rememberMs }))
    if (value !== undefined && fireTime === undefined) throw new TypeError(`${option} needs fireTime`);
  const busy = onBusyOf({ onBusy, waitMs }, "skip");
  const time = clock ?? systemClock;
  return {
    name,
    fire: fireTime === undefined ? undefined : fireOf(name, fireTime, time, { gridMs, rememberMs }),
    atLeastMs: atLeastMs ?? 0,
    skips: busy === "skip",
    lockOptions: { waitMs: waitMs ?? 0, maxHoldMs: atMostMs, signal },
    clock: time,
  };
}
