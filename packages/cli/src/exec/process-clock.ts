import type { Clock } from "holdfast";

/** The longest timer of Node: it fires longer timers at once. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/** The clock of this process. */
export const processClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  schedule(delayMs, callback, keepAlive = false) {
    const dueMs = performance.now() + delayMs;
    let timer: NodeJS.Timeout;
    const arm = () => {
      const leftMs = Math.ceil(dueMs - performance.now());
      const next = () => (performance.now() < dueMs ? arm() : callback());
      timer = setTimeout(next, Math.min(Math.max(leftMs, 1), LONGEST_TIMEOUT_MS));
      if (!keepAlive) timer.unref();
    };
    arm();
    return { cancel: () => clearTimeout(timer) };
  },
};

/** Resolves after this many milliseconds, or once the signal aborts. */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) {
      resolve();
      return;
    }
    const done = () => {
      timer.cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = clock.schedule(ms, done, true);
    signal?.addEventListener("abort", done);
  });
}

/** Waits for a promise, for at most this many milliseconds. @returns whether it has settled */
export async function within(clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
  const over = new AbortController();
  const ended = work.then(
    () => true,
    () => true,
  );
  const first = await Promise.race([ended, pause(clock, ms, over.signal).then(() => false)]);
  over.abort();
  return first;
}
