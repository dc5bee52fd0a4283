import { type Backoff, checkBackoff } from "./backoff-options.js";
import {
  checkFlag,
  checkObject,
  checkSignal,
  checkWait,
  duration,
  type Known,
  known,
  refuseUnknown,
  shown,
} from "./checks.js";

/** How one call acquires a lock. */
export interface LockOptions {
  /**
   * How long to wait, in milliseconds; `Infinity`: for ever. Default: for `lock` and `using` the client's `waitMs`, for `tryLock` and
   * `tryUsing` 0.
   */
  readonly waitMs?: number | undefined;
  /**
   * A fixed lease in milliseconds, never renewed. Default: a lease of `watchdogMs` which the watchdog renews for
   * as long as the hold lasts.
   */
  readonly leaseMs?: number | undefined;
  /**
   * The TTL of this hold in milliseconds; the watchdog renews the hold every third of that time. After a crash the lock stays for at most this long,
   * and a longer outage loses the hold. From 1 000 to 86 400 000, rounded down to 1, 2, 5, 10, 20 or 30 seconds or minutes, or to 1, 2, 6,
   * 12 or 24 hours, so that holds are renewed together. A re-entered hold is renewed together with the first, with the longer TTL. Can not
   * be combined with `leaseMs`. Default: the client's `watchdogMs`, which is not rounded.
   */
  readonly watchdogMs?: number | undefined;
  /**
   * After this many milliseconds the watchdog stops renewing, and the lease is lost; the lock then ends by its TTL, unless
   * it is released. Can not be combined with `leaseMs`. Default: never.
   */
  readonly maxHoldMs?: number | undefined;
  /** Cancels the wait: the call rejects with the signal's reason and leaves nothing behind. */
  readonly signal?: AbortSignal | undefined;
  /**
   * An explicit owner, as in Redisson's async methods: 1 to 2^32 - 1, or the `threadId` of a live lease of this
   * client. The caller is responsible for its use. Default: the scope of the call decides.
   */
  readonly threadId?: number | undefined;
  /** Says what the hold is for, such as "invoice 42", for tools: at most 200 characters. Never sent with the acquisition. Default: none. */
  readonly note?: string | undefined;
}

/** How one call releases a hold: `lease.unlock()`, or `using` and `tryUsing` after their body, however the body ends. */
export interface UnlockOptions {
  /**
   * Milliseconds for which the lock stays taken after the release, without an owner; waiters learn how long it lasts. Only for a plain,
   * non-reentrant, spin or fenced lock of which the thread has no other hold. Default: none, the lock is freed.
   */
  readonly keepForMs?: number | undefined;
}

/** How one call acquires permits of a semaphore, or awaits a latch. */
export interface WaitOptions {
  /**
   * How long to wait, in milliseconds; `Infinity`: for ever. Default: for `acquire`, `using` and `await` the client's `waitMs`, for
   * `tryAcquire` and `tryUsing` 0.
   */
  readonly waitMs?: number | undefined;
  /** Cancels the wait: the call rejects with the signal's reason and leaves nothing behind. */
  readonly signal?: AbortSignal | undefined;
}

/** How one call acquires leased permits. */
export interface PermitOptions extends WaitOptions {
  /** A fixed lease in milliseconds, after which the permits return by themselves. Default: none, they are permanent. */
  readonly leaseMs?: number | undefined;
  /**
   * `true`: a lease of `watchdogMs`, which the watchdog renews as long as the process lives and keeps the `Permits`. A crash gives the
   * permits back; a slow job keeps them. Can not be combined with `leaseMs`. Default: `false`.
   */
  readonly watchdog?: boolean | undefined;
  /** After this many milliseconds the watchdog stops renewing, and the permits are lost. Default: never. */
  readonly maxHoldMs?: number | undefined;
  /** Says what the permits are for, for tools: at most 200 characters. Never sent with the acquisition. Default: none. */
  readonly note?: string | undefined;
}

/** How a semaphore is set up. */
export interface SemaphoreSettings {
  /** Milliseconds after which the semaphore is gone, with all its permits. Default: it stays. */
  readonly ttlMs?: number | undefined;
}

/** Whether a call inside a scope re-enters the locks of that scope. */
export type Reentry = "scope" | "explicit";

/** How one lock object behaves. */
export interface LockSettings {
  /** Default: that of the client. */
  readonly reentry?: Reentry;
}

/** How one spin lock behaves. */
export interface SpinLockSettings extends LockSettings {
  /** How long to sleep between attempts. Default: exponential, from 1 ms to 128 ms. */
  readonly backoff?: Backoff;
}

/** How one read-write lock behaves. */
export interface ReadWriteLockSettings extends LockSettings {
  /**
   * Whether readers of holdfast give way to a waiting writer of holdfast, so that an unbroken sequence of readers does not
   * keep the writer out. Default: false.
   */
  readonly fair?: boolean;
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
/** The values to which `watchdogMs` of a call is rounded: holds with the same value are renewed together. */
const WATCHDOG_LADDER_MS: readonly number[] = [
  ...[1, 2, 5, 10, 20, 30].map((seconds) => seconds * SECOND_MS),
  ...[1, 2, 5, 10, 20, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 6, 12, 24].map((hours) => hours * HOUR_MS),
];
/** With a shorter lease, the watchdog could not renew in time, because its timers have a resolution of a tenth of a second. */
const SHORTEST_WATCHDOG_MS = SECOND_MS;
/** A longer value surely comes from a wrong unit: the lock would outlive its process for more than a day. */
const LONGEST_WATCHDOG_MS = 24 * HOUR_MS;

/** The `watchdogMs` of a call, rounded down. */
export function rungOf(watchdogMs: number): number {
  return WATCHDOG_LADDER_MS.findLast((ms) => ms <= watchdogMs) ?? SHORTEST_WATCHDOG_MS;
}

const LONGEST_NOTE = 200;

/** Explicit thread ids end where the client's own begin. */
export const FIRST_OWN_THREAD_ID: number = 2 ** 32;

export const LOCK_OPTIONS: Known = known<LockOptions & UnlockOptions>(
  "option",
  "a lock",
  {
    waitMs: true,
    leaseMs: true,
    watchdogMs: true,
    maxHoldMs: true,
    signal: true,
    threadId: true,
    note: true,
    keepForMs: true,
  },
  "getLock(name).lock({ ? })",
);
const UNLOCK_OPTIONS = known<UnlockOptions>("option", "unlock", { keepForMs: true });
const WAIT_OPTIONS = known<WaitOptions>("option", "this call", { waitMs: true, signal: true });
const PERMIT_OPTIONS = known<PermitOptions>(
  "option",
  "this call",
  {
    waitMs: true,
    leaseMs: true,
    watchdog: true,
    maxHoldMs: true,
    signal: true,
    note: true,
  },
  "getPermitExpirableSemaphore(name).acquire({ ? })",
);
const SEMAPHORE_SETTINGS = known<SemaphoreSettings>("setting", "a semaphore", { ttlMs: true });
const LOCK_SETTINGS = known<LockSettings>("setting", "a lock", { reentry: true });
const SPIN_LOCK_SETTINGS = known<SpinLockSettings>(
  "setting",
  "a spin lock",
  { reentry: true, backoff: true },
  "getSpinLock(name, { ? })",
);
const READ_WRITE_LOCK_SETTINGS = known<ReadWriteLockSettings>(
  "setting",
  "a read-write lock",
  { reentry: true, fair: true },
  "getReadWriteLock(name, { ? })",
);
/** Options that callers pass to a lock by mistake. */
const NOT_OF_A_CALL = [READ_WRITE_LOCK_SETTINGS, SPIN_LOCK_SETTINGS, PERMIT_OPTIONS];

/** Redisson's methods take numbers. */
function exampleOf(options: unknown, ...likely: readonly string[]): string | undefined {
  if (typeof options !== "number") return undefined;
  return likely.map((name) => `{ ${name}: ${options} }`).join(" or ");
}

/** @throws TypeError, RangeError naming the option that is wrong */
export function checkLockOptions(options: LockOptions & UnlockOptions): void {
  checkObject("options", options, exampleOf(options, "waitMs", "leaseMs"));
  const { waitMs, leaseMs, watchdogMs, maxHoldMs, signal, threadId, note, keepForMs, ...unknown } = options;
  refuseUnknown(LOCK_OPTIONS, unknown, NOT_OF_A_CALL);
  duration("keepForMs", keepForMs, 1);
  checkWait(waitMs);
  duration("leaseMs", leaseMs, 1);
  duration("maxHoldMs", maxHoldMs, 1);
  duration("watchdogMs", watchdogMs, SHORTEST_WATCHDOG_MS, LONGEST_WATCHDOG_MS);
  if (leaseMs !== undefined && (maxHoldMs !== undefined || watchdogMs !== undefined)) {
    const other = maxHoldMs === undefined ? "watchdogMs" : "maxHoldMs";
    throw new TypeError(`leaseMs and ${other} exclude each other: a fixed lease is never renewed`);
  }
  if (note !== undefined) checkNote(note);
  checkSignal(signal);
  if (threadId !== undefined) checkThreadId(threadId);
}

/** @throws TypeError, RangeError naming the option that is wrong */
export function checkUnlockOptions(options: UnlockOptions): void {
  checkObject("options", options, exampleOf(options, "keepForMs"));
  const { keepForMs, ...unknown } = options;
  refuseUnknown(UNLOCK_OPTIONS, unknown);
  duration("keepForMs", keepForMs, 1);
}

/** @throws TypeError, RangeError */
export function checkLease(leaseMs: number): void {
  if (leaseMs === undefined) throw new TypeError("leaseMs must be a number of milliseconds");
  duration("leaseMs", leaseMs, 1);
}

/** @throws TypeError, RangeError naming the option that is wrong */
export function checkWaitOptions(options: WaitOptions, names: Known = WAIT_OPTIONS): void {
  checkObject("options", options, exampleOf(options, "waitMs"));
  const { waitMs, signal, ...unknown } = options;
  refuseUnknown(names, unknown);
  checkWait(waitMs);
  checkSignal(signal);
}

/** @throws TypeError, RangeError naming the option that is wrong */
export function checkPermitOptions(options: PermitOptions): void {
  checkObject("options", options, exampleOf(options, "waitMs", "leaseMs"));
  const { leaseMs, watchdog, maxHoldMs, note, ...others } = options;
  checkWaitOptions(others, PERMIT_OPTIONS);
  if (note !== undefined) checkNote(note);
  duration("leaseMs", leaseMs, 1);
  duration("maxHoldMs", maxHoldMs, 1);
  if (watchdog !== undefined) checkFlag("watchdog", watchdog);
  if (watchdog && leaseMs !== undefined) {
    throw new TypeError("leaseMs and watchdog exclude each other: a fixed lease is never renewed");
  }
  if (!watchdog && maxHoldMs !== undefined) throw new TypeError("maxHoldMs needs watchdog: true");
}

/** @throws TypeError, RangeError naming the setting that is wrong */
export function checkSemaphoreSettings(settings: SemaphoreSettings): void {
  checkObject("settings", settings);
  const { ttlMs, ...unknown } = settings;
  refuseUnknown(SEMAPHORE_SETTINGS, unknown);
  duration("ttlMs", ttlMs, 1);
}

/** @throws TypeError, RangeError */
export function checkThreadId(threadId: number): void {
  if (typeof threadId !== "number") {
    throw new TypeError(`threadId must be a number, got ${shown(threadId)}`);
  }
  if (!Number.isSafeInteger(threadId) || threadId < 1) {
    throw new RangeError(`threadId must be an integer of at least 1, got ${threadId}`);
  }
}

/** @throws TypeError, RangeError */
function checkNote(note: string): void {
  if (typeof note !== "string") throw new TypeError(`note must be a string, got ${shown(note)}`);
  if (note.length > LONGEST_NOTE) {
    throw new RangeError(`note must have at most ${LONGEST_NOTE} characters, got ${note.length}`);
  }
}

/** @throws TypeError naming the setting that is wrong */
export function checkLockSettings(settings: LockSettings, names: Known = LOCK_SETTINGS): void {
  checkObject("settings", settings);
  const { reentry, ...unknown } = settings;
  refuseUnknown(names, unknown, [LOCK_OPTIONS]);
  if (reentry !== undefined) checkReentry(reentry);
}

/** @throws TypeError, RangeError naming the setting that is wrong */
export function checkSpinLockSettings(settings: SpinLockSettings): void {
  checkObject("settings", settings);
  const { backoff, ...others } = settings;
  checkLockSettings(others, SPIN_LOCK_SETTINGS);
  if (backoff !== undefined) checkBackoff(backoff);
}

/** @throws TypeError naming the setting that is wrong */
export function checkReadWriteLockSettings(settings: ReadWriteLockSettings): void {
  checkObject("settings", settings);
  const { fair, ...others } = settings;
  checkLockSettings(others, READ_WRITE_LOCK_SETTINGS);
  if (fair !== undefined) checkFlag("fair", fair);
}

/** @throws TypeError */
export function checkReentry(reentry: Reentry): void {
  if (reentry !== "scope" && reentry !== "explicit") {
    throw new TypeError(`reentry must be "scope" or "explicit", got ${String(reentry)}`);
  }
}
