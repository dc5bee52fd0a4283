import { checkObject, checkSignal, known, refuseUnknown, shown } from "../checks.js";
import { type Clock, systemClock } from "../clock.js";
import type { Holdfast, Lease } from "../index.js";
import { type BusyOptions, onBusyOf } from "./busy.js";
import { share } from "./flights.js";

/** How to get a value that many callers want at once, but only one should make. */
export interface SingleFlightOptions<V> extends BusyOptions {
  /** Reads the stored value. Called first without the lock, and again under it. @returns undefined if there is no value */
  readonly read: () => V | undefined | Promise<V | undefined>;
  /**
   * Makes the value, under the lock: never undefined; `null` if the thing does not exist. The signal of the lease aborts when the lock is
   * lost, so that another caller may begin.
   */
  readonly load: (lease: Lease) => V | Promise<V>;
  /** Stores the value for all calls, under the lock. */
  readonly write: (value: V) => unknown;
  /**
   * How long to wait, in milliseconds, for a value that another caller makes, until the call rejects with a WaitTimeoutError. Default: 5
   * 000.
   */
  readonly waitMs?: number | undefined;
  /**
   * How long other calls wait, in milliseconds, if the process that makes the value dies; a watchdog's lease, like `watchdogMs` of a lock.
   * Default: 2 000.
   */
  readonly ttlMs?: number | undefined;
  /** Ends the wait of this call with the signal's reason. A value that the call is making is still made, for the other calls. */
  readonly signal?: AbortSignal | undefined;
  /** Time; a fake clock for tests. Default: the clock of the process. */
  readonly clock?: Clock | undefined;
}

const OPTIONS = known<SingleFlightOptions<unknown>>("option", "singleFlight", {
  read: true,
  load: true,
  write: true,
  onBusy: true,
  waitMs: true,
  ttlMs: true,
  signal: true,
  clock: true,
});
const WAIT_MS = 5_000;
/** Short: if the process that makes a value dies, calls that wait still have time. */
const TTL_MS = 2_000;

/**
 * Reads a value, and makes it if there is none: one caller at a time in all processes. The calls of one process share one wait, and its
 * result or error. If the process that makes the value dies, another takes over.
 *
 * @example
 * const user = await singleFlight(holdfast, `user:${id}`, {
 *   read: () => cache.get(id),
 *   load: ({ signal }) => fetchUser(id, { signal }),
 *   write: (user) => cache.set(id, user),
 * });
 * @param name of the lock
 * @returns the value; undefined only with `onBusy: "skip"`, while another caller makes it: then serve the previous value
 * @throws what `read`, `load` and `write` throw; WaitTimeoutError; LeaseLostError if the lock was lost while the value was made: it is then
 * not written; UnavailableError, ClientClosedError, TypeError, RangeError, InvalidNameError
 * @see docs/guide/recipes.md
 */
export function singleFlight<V>(
  holdfast: Holdfast,
  name: string,
  options: SingleFlightOptions<V> & { readonly onBusy: "skip" },
): Promise<V | undefined>;
export function singleFlight<V>(
  holdfast: Holdfast,
  name: string,
  options: SingleFlightOptions<V>,
): Promise<V>;
export async function singleFlight<V>(
  holdfast: Holdfast,
  name: string,
  options: SingleFlightOptions<V>,
): Promise<V | undefined> {
  checkObject("options", options, "{ read, load, write }");
  const { read, load, write, onBusy, waitMs, ttlMs, signal, clock = systemClock, ...unknown } = options;
  refuseUnknown(OPTIONS, unknown);
  for (const [what, call] of Object.entries({ read, load, write })) checkFunction(what, call);
  checkSignal(signal);
  const waits = onBusy === undefined || onBusy === "wait";
  const way = onBusyOf({ onBusy, waitMs: waits ? (waitMs ?? WAIT_MS) : waitMs }, "throw");
  const lock = holdfast.getNonReentrantLock(name);
  const terms = { watchdogMs: ttlMs ?? TTL_MS };
  const make = async (lease: Lease) => {
    const found = await read();
    if (found !== undefined) return found;
    const value = await load(lease);
    if (value === undefined)
      throw new TypeError(
        "load of singleFlight must return a value, got undefined: return null for something that does not exist",
      );
    lease.assertHeld();
    await write(value);
    return value;
  };

  const kept = await read();
  if (kept !== undefined) return kept;
  if (way === "skip") return (await lock.tryUsing({ ...terms, signal }, make)).value;
  // A call inside the load of the same value would wait for itself: the lock refuses it.
  if (way === "throw" || holdfast.leaseHere(name) !== undefined)
    return lock.using({ ...terms, waitMs: 0, signal }, make);
  const fly = (leftMs: number) => holdfast.outside(() => lock.using({ ...terms, waitMs: leftMs }, make));
  return share(holdfast, fly, { name, ms: waitMs ?? WAIT_MS, signal, clock });
}

/** @throws TypeError */
function checkFunction(what: string, call: unknown): void {
  if (typeof call !== "function")
    throw new TypeError(`singleFlight needs a function ${what}, got ${shown(call)}`);
}
