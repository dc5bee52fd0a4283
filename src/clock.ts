/** A pending call of {@link Clock.schedule}. */
export interface Timer {
  /** Drops the call. Harmless once it has run or was cancelled before. */
  cancel(): void;
}

/**
 * The port of time. Everything in holdfast that reads a clock or waits goes through one of these, so
 * that a fake one (`holdfast/memory`) can stand in for it.
 */
export interface Clock {
  /** Milliseconds since an arbitrary start. Never jumps, and stands still while the machine is suspended. */
  monotonicMs(): number;
  /** Milliseconds since the Unix epoch. May jump, and moves on while the machine is suspended. */
  wallMs(): number;
  /**
   * Calls `callback` once, not before `delayMs` have passed on the monotonic clock; with a delay of 0 in
   * a later turn of the event loop. A timer does not keep the process alive unless `keepAlive` is true.
   */
  schedule(delayMs: number, callback: () => void, keepAlive?: boolean): Timer;
}

/** Node fires a `setTimeout` with a longer delay at once, so longer ones run in stages. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * The clock of this process. The globals are looked up at each call, so that fake timers which a test
 * framework puts in their place take effect.
 */
export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  schedule(delayMs, callback, keepAlive = false) {
    return delayMs <= 0 ? soon(callback) : later(delayMs, callback, keepAlive);
  },
};

/** Keeps the process alive for this one turn: without, it would wait for whatever wakes an idle event loop next. */
function soon(callback: () => void): Timer {
  const immediate = setImmediate(callback);
  return { cancel: () => clearImmediate(immediate) };
}

function later(delayMs: number, callback: () => void, keepAlive: boolean): Timer {
  const dueMs = performance.now() + delayMs;
  let timeout: NodeJS.Timeout;
  const arm = () => {
    // setTimeout truncates fractions and libuv's clock is coarser than ours: both may fire early.
    const leftMs = Math.min(Math.ceil(dueMs - performance.now()), LONGEST_TIMEOUT_MS);
    timeout = setTimeout(() => (performance.now() < dueMs ? arm() : callback()), Math.max(leftMs, 1));
    if (!keepAlive) timeout.unref();
  };
  arm();
  return { cancel: () => clearTimeout(timeout) };
}
