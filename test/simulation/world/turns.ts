import { real } from "./trap.js";

/** So many turns of one pass through the event loop. */
const AT_ONCE = 64;

let left = 0;
let wake: (() => void) | undefined;

function pass(): void {
  left -= 1;
  const woken = wake;
  wake = undefined;
  woken?.();
}

function begin(resolve: () => void): void {
  wake = resolve;
  if (left > 0) return;
  left = AT_ONCE;
  for (let at = 0; at < AT_ONCE; at += 1) real.setImmediate(pass);
}

/**
 * Lets all promises settle: after each immediate Node runs all microtasks and ticks, and tells of rejections that nobody handles, before
 * the next immediate. A pass through the event loop, which asks the kernel for news that no run waits for, costs more than most of
 * what happens in a run, so many immediates share one.
 */
export function turn(): Promise<void> {
  return new Promise(begin);
}

/** Nothing of a run is left in the event loop. */
export async function endTurns(): Promise<void> {
  while (left > 0) await turn();
}
