import type { Clock } from "../clock.js";

/** Waits for work to end, however it ends, for so many milliseconds at most. Keeps the process alive meanwhile. */
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
