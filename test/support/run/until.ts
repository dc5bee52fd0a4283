import { setTimeout as sleep } from "node:timers/promises";

/** Most conditions hold within so many turns of the event loop. */
const TURNS = 20;
/** After that a look costs the processor less than what is waited for. */
const POLL_MS = 1;

/**
 * Looks again and again until the condition holds, where nobody tells a test that it does.
 * Bounded by the timeout of the test. Never to be used for something that an event or a promise tells.
 */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let looks = 1; !(await condition()); looks += 1) {
    await (looks < TURNS ? new Promise(setImmediate) : sleep(POLL_MS));
  }
}
