import type { Clock } from "../clock.js";

/** Waits until work ends, with or without an error, for at most `ms` milliseconds. Keeps the process alive meanwhile. */
export function within(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  return new Promise<void>((resolve) => {
    const timer = clock.schedule(ms, resolve, true);
    const ended = () => {
      timer.cancel();
      resolve();
    };
    work.then(ended, ended);
  });
}
