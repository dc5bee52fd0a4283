// @ts-check
import { setTimeout as pause } from "node:timers/promises";

/**
 * Stands for a model that streams its answer. It says how many turns it has read, and then counts up to the number at the end of the text.
 *
 * @param {readonly import("./history.mjs").Turn[]} turns
 * @param {string} text
 * @param {AbortSignal} signal
 */
export async function* streamAnswer(turns, text, signal) {
  yield `read:${turns.length}`;
  const words = Number(/\d+$/.exec(text)?.[0] ?? 10);
  for (let word = 1; word <= words; word += 1) {
    await pause(10, undefined, { signal });
    yield String(word);
  }
}
