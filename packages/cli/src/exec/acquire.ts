import {
  type Clock,
  type FencedLease,
  type Holdfast,
  type Lease,
  type Lock,
  UnavailableError,
} from "holdfast";
import { tellDuration } from "../duration.js";
import { exitCodes } from "../exit-codes.js";
import { Failure } from "../failure.js";
import { lacksRight } from "../failure-of.js";
import type { ExecSettings } from "./exec-options.js";
import { pause } from "./process-clock.js";

const LOOK_MS = 10;
/** If Redis has not confirmed a lease within this time, the attempt has failed. */
const CONFIRMED_WITHIN_MS = 3_000;
/** A call that Redis never answers fails within this time: if a call takes longer, Redis has answered it. */
const ANSWERED_MS = 7_000;
const PAUSE_MS = 500;

/**
 * Acquires the lock, and waits until its lease is long enough to stop the command in time.
 * @param tell prints the reason of a delay
 * @returns null if the lock was not acquired in time
 * @throws the signal's reason; Failure if the lock was lost again meanwhile; errors of holdfast
 */
export async function acquire(
  holdfast: Holdfast,
  settings: ExecSettings,
  clock: Clock,
  signal: AbortSignal,
  tell: (text: string) => void,
): Promise<Lease | FencedLease | null> {
  const { name } = settings;
  const lease = await throughOutages(lockOf(holdfast, settings), settings, clock, signal, tell);
  if (lease === null) return null;
  try {
    await untilTrusted(lease, settings, clock, signal);
    signal.throwIfAborted();
    return lease;
  } catch (error) {
    // unlock() fails if the lease is lost, but the error that is thrown below says more.
    await lease.unlock().catch(() => undefined);
    if (signal.aborted || error instanceof Failure) throw error;
    throw new Failure(exitCodes.unavailable, `lock "${name}" was lost before the command was started`, {
      cause: error,
    });
  }
}

/**
 * Waits for the lock. Nothing runs yet, so an outage of Redis does no harm: if it is no longer than the TTL, the wait continues
 * afterwards. A longer outage ends the wait.
 */
async function throughOutages(
  lock: Lock,
  { waitMs, ttlMs, leaseMs, maxHoldMs, note }: ExecSettings,
  clock: Clock,
  signal: AbortSignal,
  tell: (text: string) => void,
): Promise<Lease | FencedLease | null> {
  const untilMs = clock.monotonicMs() + waitMs;
  let outageMs: number | undefined;
  for (;;) {
    const askedMs = clock.monotonicMs();
    const leftMs = Math.max(0, Math.ceil(untilMs - askedMs));
    try {
      return await lock.tryLock({ waitMs: leftMs, leaseMs, maxHoldMs, note, signal });
    } catch (error) {
      const nowMs = clock.monotonicMs();
      const isOutage = error instanceof UnavailableError && !lacksRight(error) && !signal.aborted;
      // A call that took this long has had an answer from Redis: the previous outage is over.
      if (nowMs - askedMs > ANSWERED_MS) outageMs = undefined;
      outageMs ??= nowMs;
      if (!isOutage || nowMs >= untilMs || nowMs - outageMs > ttlMs) throw error;
      if (outageMs === nowMs) tell(`${error.message}; retrying for ${tellDuration(ttlMs)}`);
      await pause(clock, PAUSE_MS, signal);
    }
  }
}

/** If a message has granted a fair lock, its lease has only a few seconds left, until Redis has stored the full lease. */
async function untilTrusted(
  lease: Lease,
  { name, killAfterMs, lastMs }: ExecSettings,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const untilMs = clock.monotonicMs() + CONFIRMED_WITHIN_MS;
  const neededMs = killAfterMs + lastMs;
  while (lease.remainingMs() <= neededMs && !signal.aborted) {
    lease.assertHeld();
    if (clock.monotonicMs() > untilMs) {
      throw new Failure(
        exitCodes.unavailable,
        `lock "${name}" came too late: its lease has ${tellDuration(lease.remainingMs())} left, and stopping the command may take ${tellDuration(neededMs)}`,
      );
    }
    await pause(clock, LOOK_MS, signal);
  }
}

function lockOf(holdfast: Holdfast, { name, kind }: ExecSettings): Lock {
  switch (kind) {
    case "lock":
      return holdfast.getLock(name);
    case "fair":
      return holdfast.getFairLock(name);
    case "fenced":
      return holdfast.getFencedLock(name);
    case "read":
      return holdfast.getReadWriteLock(name).readLock();
    case "write":
      return holdfast.getReadWriteLock(name).writeLock();
    default:
      return kind satisfies never;
  }
}
