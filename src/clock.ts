// biome-ignore lint/style/noRestrictedImports: time is kept here, and in no other file.
import * as timers from "node:timers";

/** A pending call of {@link Clock.schedule}. */
export interface Timer {
  /** Drops the call. Harmless once it has run or was cancelled before. */
  cancel(): void;
}

/**
 * The port of time. Everything in holdfast that reads a clock or waits goes through a `Clock`, so that a fake clock (`holdfast/memory`) can
 * replace it.
 */
export interface Clock {
  /** Milliseconds since an arbitrary start. Never jumps, and stops while the machine is suspended. */
  monotonicMs(): number;
  /** Milliseconds since the Unix epoch. May jump, and moves on while the machine is suspended. */
  wallMs(): number;
  /**
   * Calls `callback` once, not before `delayMs` have passed on the monotonic clock; with a delay of 0 in
   * a later turn of the event loop. A timer does not keep the process alive unless `keepAlive` is true.
   */
  schedule(delayMs: number, callback: () => void, keepAlive?: boolean): Timer;
}

/** Node fires a `setTimeout` with a longer delay at once, so longer delays run in stages. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/** The function of Node itself, even if a test framework has replaced the global. */
const realSetImmediate = timers.setImmediate;

/**
 * The clock of this process. The functions that tell and count time are looked up at each call, so that a test framework's fake timers take
 * effect.
 */
export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  schedule(delayMs, callback, keepAlive = false) {
    return delayMs <= 0 ? soon(callback) : later(delayMs, callback, keepAlive);
  },
};

/** Runs a callback in a later turn of the event loop, without a delay. The process stays alive for it, with fake timers or not. */
export function inLaterTurn(callback: () => void): void {
  realSetImmediate(callback);
}

/**
 * Fake timers hold `setImmediate` back until they are advanced. For them a turn of the event loop takes no time, so here a promise replaces
 * `setImmediate`. A test that advances the timers lets all promises settle before the next timer fires; a real turn might come after that
 * timer.
 */
function soon(callback: () => void): Timer {
  let isCancelled = false;
  const run = () => {
    if (!isCancelled) callback();
  };
  if (globalThis.setImmediate === realSetImmediate) inLaterTurn(run);
  else void Promise.resolve().then(run);
  return {
    cancel() {
      isCancelled = true;
    },
  };
}

function later(delayMs: number, callback: () => void, keepAlive: boolean): Timer {
  const dueMs = performance.now() + delayMs;
  let timeout: NodeJS.Timeout;
  const arm = () => {
    // setTimeout truncates fractions, and libuv's clock is coarser than ours: for both reasons a timer may fire early.
    const leftMs = Math.min(Math.ceil(dueMs - performance.now()), LONGEST_TIMEOUT_MS);
    timeout = setTimeout(() => (performance.now() < dueMs ? arm() : callback()), Math.max(leftMs, 1));
    if (!keepAlive) timeout.unref();
  };
  arm();
  return { cancel: () => clearTimeout(timeout) };
}

/** Resolves when the time is over, or as soon as the signal aborts. Keeps the process alive until then. */
export function pause(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const abort = () => {
      timer.cancel();
      resolve();
    };
    const timer = clock.schedule(
      ms,
      () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      },
      true,
    );
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}
