import type { Backoff } from "../backoff-options.js";
import { environment } from "../environment.js";

const INITIAL_DELAY_MS = 1;
const MAX_DELAY_MS = 128;
const MULTIPLIER = 2;
const DELAY_MS = 64;

/**
 * The pauses of one wait, in milliseconds. Source: Redisson's LockOptions.
 * @param random from 0 up to but not including 1
 */
export function delays(backoff: Backoff, random: () => number = () => environment.random()): () => number {
  if (backoff.type === "constant") {
    const { delayMs = DELAY_MS } = backoff;
    return () => delayMs;
  }
  const { initialDelayMs = INITIAL_DELAY_MS, maxDelayMs = MAX_DELAY_MS, multiplier = MULTIPLIER } = backoff;
  let failures = 0;
  let delayMs = initialDelayMs;
  return () => {
    if (failures > 0 && delayMs < maxDelayMs) {
      delayMs = Math.min(maxDelayMs, delayMs * multiplier + Math.floor(random() * failures));
    }
    failures += 1;
    return delayMs;
  };
}
