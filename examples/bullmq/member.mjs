// @ts-check
/** One of two processes with workers. It tells play.mjs which jobs it works at, and from when to when. */
import { setTimeout as pause } from "node:timers/promises";
import { startWorker } from "./worker.mjs";

/** Of all processes of this machine, and not set anew as a clock may be. */
const nowMs = () => Number(process.hrtime.bigint() / 1_000n) / 1_000;
/** @param {object} message */
const tell = (message) => void process.send?.(message);

/** @typedef {import("bullmq").Job<{ customer: string, ms: number }>} Job */

const worker = startWorker(process.env["QUEUE"] ?? "", async (/** @type {Job} */ { name, data }, signal) => {
  const fromMs = nowMs();
  tell({ type: "begins", name });
  try {
    await pause(data.ms, undefined, { signal });
    tell({ type: "ends", name, customer: data.customer, fromMs, toMs: nowMs() });
  } catch (error) {
    tell({ type: "stops", name, reason: signal.reason?.message });
    throw error;
  }
});
await worker.waitUntilReady();
tell({ type: "ready" });
// Nothing is left where play.mjs was cut short.
process.once("disconnect", () => process.exit());
worker.once("closed", () => process.disconnect?.());
