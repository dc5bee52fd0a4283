import { UnavailableError } from "../errors.js";
import type { Awaited } from "./awaited.js";
import type { WaitLine } from "./wait-line.js";
import type { WaitLines } from "./wait-lines.js";
import type { Waiter } from "./waiter.js";

/** One call that stands in a line. */
export interface Standing<T> {
  readonly awaited: Awaited;
  readonly waiter: Waiter;
  /** Asks Redis, for the head. Says in the line when to ask again, when it brings nothing. */
  ask(line: WaitLine): Promise<T | undefined>;
  /** What the waiter was served with while it slept; undefined: nothing yet. */
  served?(): T | undefined;
  /** The time is up, or the wait was cancelled. */
  over(line: WaitLine): void;
}

/**
 * Stands in line with the other callers of this client, first come, first served; the head of the line sleeps until Redis
 * tells that it is worth asking.
 * @returns undefined when the waiter's time was up
 * @throws what `ask` and `over` throw
 * @see docs/internals/states.md#the-line
 */
export async function standInLine<T>(lines: WaitLines, standing: Standing<T>): Promise<T | undefined> {
  const { awaited, waiter, over } = standing;
  const line = lines.join(awaited, waiter);
  try {
    for (;;) {
      if (line.isHead(waiter) && line.shouldAsk()) {
        const found = await askFor(line, standing);
        if (found !== undefined) return found;
      } else {
        if (line.isHead(waiter)) line.watch();
        await waiter.pause();
      }
      const served = standing.served?.();
      if (served !== undefined) return served;
      if (waiter.over) {
        over(line);
        return undefined;
      }
    }
  } finally {
    lines.leave(line, waiter);
  }
}

async function askFor<T>(line: WaitLine, standing: Standing<T>): Promise<T | undefined> {
  const { waiter, ask } = standing;
  line.asking();
  try {
    return await ask(line);
  } catch (error) {
    // A server that fails one fails all. A wake-up that the call has used up otherwise is for the next in line.
    if (error instanceof UnavailableError && !waiter.cancelled) line.fail(error);
    else line.wake();
    throw error;
  }
}
