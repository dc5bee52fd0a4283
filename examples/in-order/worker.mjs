// @ts-check
/** A process that does two jobs at a time. It tells play.mjs when one begins and ends. */
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { Holdfast } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";
import { doNext } from "./jobs.mjs";

const SLOTS = 2;
const JOB_MS = 20;
const PAUSE_MS = 20;

const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");
redis.on("error", () => undefined); // ioredis reconnects by itself, and failing calls reject with the reason
// After a worker has died, the next job of its customer can start within 2 seconds.
const holdfast = new Holdfast(ioredisDriver(redis), { watchdogMs: 2_000 });

/** @param {string} job */
async function work(job) {
  process.send?.({ type: "begins", job });
  await pause(JOB_MS);
  process.send?.({ type: "ends", job });
}

async function slot() {
  while (!holdfast.closing.aborted)
    if (!(await doNext({ holdfast, redis }, work).catch(() => false))) await pause(PAUSE_MS);
}

const slots = Array.from({ length: SLOTS }, slot);
await once(process, "disconnect");
await holdfast.close({ graceMs: 5_000 });
await Promise.all(slots);
redis.disconnect();
