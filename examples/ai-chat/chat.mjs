// @ts-check
// #region chat
import { Holdfast } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";
import { History } from "./history.mjs";
import { streamAnswer } from "./model.mjs";

const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");
redis.on("error", () => undefined); // ioredis reconnects by itself, and failing calls reject with the reason
// When a process dies in the middle of an answer, the next turn starts within 3 seconds.
const holdfast = new Holdfast(ioredisDriver(redis), { watchdogMs: 3_000 });
const history = new History(redis);

/**
 * Answers a message of the user. The fair lock gives each conversation one turn at a time, in the order of its messages. Without it, two
 * quick messages would be answered at the same time, and neither answer would know the other.
 *
 * @param {string} conversation
 * @param {string} text of the user
 * @param {{ signal: AbortSignal, write: (word: string) => void }} user `signal` aborts when the user presses Stop or leaves, and `write`
 * shows a word
 * @returns {Promise<string>} the whole answer
 */
export function answer(conversation, text, { signal, write }) {
  // maxHoldMs: a model that hangs blocks its conversation for two minutes, not for ever.
  const options = { waitMs: 60_000, maxHoldMs: 120_000, signal };
  return holdfast.getFairLock(`conversation:${conversation}`).using(options, async (lease) => {
    const turns = await history.read(conversation);
    // The model stops when the user stops it, and when the lock is lost: it costs money, and its answer may not be stored any more.
    const stop = AbortSignal.any([signal, lease.signal]);
    let whole = "";
    for await (const word of streamAnswer(turns, text, stop)) {
      write(word);
      whole += `${word} `;
    }
    lease.assertHeld();
    // The lock may still be lost between that line and this write. So the history refuses a turn that has not read all others.
    await history.append(conversation, turns.length, { text, answer: whole.trim() });
    return whole.trim();
  });
}

/** On SIGTERM: rejects messages that wait, and gives running answers ten seconds. */
export async function close() {
  await holdfast.close({ graceMs: 10_000 });
  redis.disconnect();
}
// #endregion
