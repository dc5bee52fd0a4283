// @ts-check
/** One of the processes that stand for leader. It tells play.mjs each step that it takes as the leader, and when. */
import { schedule } from "./scheduler.mjs";

/** Of all processes of this machine, and not set anew as a clock may be. */
const nowMs = () => Number(process.hrtime.bigint() / 1_000n) / 1_000;

// Nothing is left where play.mjs was cut short.
process.once("disconnect", () => process.exit());

await schedule(
  (token) => void process.send?.({ token: String(token), atMs: nowMs() }),
  (error) => void process.send?.({ error: error instanceof Error ? error.message : String(error) }),
);
process.disconnect?.();
