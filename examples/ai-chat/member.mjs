// @ts-check
/** One of the two processes. It reports to play.mjs which turns wait, begin and end. */
import { events } from "holdfast";
import { answer, close } from "./chat.mjs";

/** @typedef {{ conversation: string, text: string } | { stop: string }} Order `stop` names the text of the message */

/** One clock for all processes of the machine. Nothing sets it back. */
const nowMs = () => Number(process.hrtime.bigint() / 1_000n) / 1_000;
/** @param {object} news */
const tell = (news) => void process.send?.(news);

/** @type {Map<string, AbortController>} by text */
const running = new Map();

process.on("message", async (/** @type {Order} */ order) => {
  if ("stop" in order) {
    running.get(order.stop)?.abort(new Error("stopped by the user"));
    return;
  }
  const { conversation, text } = order;
  const user = new AbortController();
  running.set(text, user);
  /** @type {{ conversation: string, text: string, fromMs?: number, toMs?: number }} `fromMs` and `toMs` are the times of its first and last word */
  const turn = { conversation, text };
  const write = () => {
    turn.toMs = nowMs();
    if (turn.fromMs !== undefined) return;
    turn.fromMs = turn.toMs;
    tell({ ...turn, type: "begins" });
  };
  try {
    await answer(conversation, text, { signal: user.signal, write });
    tell({ ...turn, type: "ends" });
  } catch (error) {
    // An AbortError has the reason of its signal as its cause.
    const { message, cause } = /** @type {Error} */ (error);
    tell({ ...turn, type: "stops", reason: cause instanceof Error ? cause.message : message });
  } finally {
    running.delete(text);
  }
});
events.contended.subscribe(({ name }) =>
  tell({ type: "waits", conversation: name.replace("conversation:", "") }),
);
process.once("SIGTERM", async () => {
  await close();
  process.disconnect?.();
});
// So that no process stays behind when play.mjs is interrupted.
process.once("disconnect", () => process.exit());
tell({ type: "ready" });
