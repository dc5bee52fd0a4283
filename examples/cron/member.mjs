// @ts-check
/** One of three processes that all have the same schedule. It tells play.mjs of each report that it makes. */
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { Holdfast } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";
import * as coordinator from "./coordinator.mjs";
import * as cron from "./cron.mjs";
import * as croner from "./croner.mjs";
import * as lockAlone from "./lock-alone.mjs";
import * as nodeCron from "./node-cron.mjs";

const EVERY_MS = 2_000;
const SCHEDULE = "*/2 * * * * *";
const REPORT_MS = 50;

const redis = new Redis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");
if (redis.status !== "ready") await once(redis, "ready");

/** @typedef {(holdfast: Holdfast, schedule: string, report: () => unknown, gridMs: number) => { stop: () => unknown }} Nightly */

/** @type {Record<string, { nightly: Nightly }>} */
const schedulers = {
  "node-cron, lock alone": lockAlone,
  "node-cron, runOnce": nodeCron,
  "node-cron, coordinator": coordinator,
  "croner, runOnce": croner,
  "cron, runOnce": cron,
};

const fleets = Object.entries(schedulers).map(([scheduler, { nightly }]) => {
  // Each of them is a fleet of its own, so that they may all call their job by one name.
  const holdfast = new Holdfast(ioredisDriver(redis), { nameMapper: (name) => `${scheduler}:${name}` });
  const report = async () => {
    process.send?.({ scheduler, fireMs: Math.floor(Date.now() / EVERY_MS) * EVERY_MS });
    await pause(REPORT_MS);
  };
  return { holdfast, job: nightly(holdfast, SCHEDULE, report, EVERY_MS) };
});
process.send?.("ready");

await once(process, "disconnect");
for (const { holdfast, job } of fleets) {
  await job.stop();
  await holdfast.close({ graceMs: 5_000 });
}
redis.disconnect();
