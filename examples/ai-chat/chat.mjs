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
 * Answers a message of the user. The fair lock gives each conversation one turn at a time, in the order of the messages. Without it, two
 * quick messages would be answered side by side, and neither answer would know of the other.
 *
 * @param {string} conversation
 * @param {string} text of the user
 * @param {{ signal: AbortSignal, write: (word: string) => void }} user `signal` aborts when the user presses Stop or leaves; `write` shows
 * a word
 * @returns {Promise<string>} the whole answer
 */
export function answer(conversation, text, { signal, write }) {
  // maxHoldMs: a model that hangs blocks its conversation for two minutes, not for ever.
  const options = { waitMs: 60_000, maxHoldMs: 120_000, signal };
  return holdfast.getFairLock(`conversation:${conversation}`).using(options, async (lease) => {
    const turns = await history.read(conversation);
    // The model stops when the user stops it, and when the lock is lost: it costs money, and nobody may store its answer.
    const stop = AbortSignal.any([signal, lease.signal]);
    let whole = "";
    for await (const word of streamAnswer(turns, text, stop)) {
      write(word);
      whole += `${word} `;
    }
    lease.assertHeld();
    // Between that line and this write the lock may still be lost: the history itself refuses a turn that has not read all others.
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
