// @ts-check
// #region leader
import { setTimeout as pause } from "node:timers/promises";
import { Holdfast } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { leader } from "holdfast/recipes";
import { Redis } from "ioredis";

const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");
redis.on("error", () => undefined); // ioredis reconnects by itself, and onError is told of what fails
const holdfast = new Holdfast(ioredisDriver(redis));

const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());

/**
 * @param {(token: bigint, signal: AbortSignal) => unknown} step of the work that only the leader may do
 * @param {(error: unknown) => void} onError
 */
export async function schedule(step, onError) {
  const office = { name: "scheduler", ttlMs: 3_000, signal: stop.signal, onError };
  try {
    await leader(holdfast, office, async (term) => {
      // Read from the term, the signal looks at the clock: it is right even if this process was suspended.
      while (!term.signal.aborted) {
        await step(term.token, term.signal);
        await pause(200);
      }
    });
  } finally {
    // Also after a step that has failed: another process leads then.
    await holdfast.close();
    redis.disconnect();
  }
}
// #endregion
