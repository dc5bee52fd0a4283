// @ts-check
/** What not to do: this handler keeps its lease from one invocation to the next. play.mjs shows what becomes of it. */
import { Holdfast, LeaseLostError } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";

const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");
redis.on("error", () => undefined);
// In place of 30 seconds, so that the lease ends while one watches.
const holdfast = new Holdfast(ioredisDriver(redis), { watchdogMs: 1_500 });
/** @type {import("holdfast").Lease | undefined} */
let kept;

/** @param {unknown} _event */
export async function handler(_event) {
  if (kept === undefined) {
    kept = await holdfast.getLock("report").lock({ waitMs: 1_000 });
    return { state: kept.state };
  }
  // The first lines that run after the thaw. The lease compares its deadline with the clock: it needs neither a timer nor Redis.
  const { state } = kept;
  try {
    kept.assertHeld();
    return { state };
  } catch (error) {
    if (!(error instanceof LeaseLostError)) throw error;
    return { state, code: error.code, reason: error.reason };
  }
}
