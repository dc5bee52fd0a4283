// @ts-check
/** Gives three processes the jobs of five customers, one of whom has most of them, kills one, and looks in which order jobs were done. */
import { fork } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { Holdfast } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";
import { withRedis } from "../with-redis.mjs";
import { add } from "./jobs.mjs";

const PROCESSES = 3;
const JOBS_OF = { busy: 40, b: 5, c: 5, d: 5, e: 5 };
const KILLED_AFTER = 10;

/** @typedef {{ type: "begins" | "ends", job: string }} Message */
/** @typedef {{ by: number, job: string, customer: string, nth: number }} Job */

/** What was done to its end, in that order. @type {Job[]} */
const done = [];
/** What has begun and not ended. @type {Job[]} */
const running = [];
/** How often a job began while another one of its customer ran. */
let together = 0;
const news = new EventEmitter();

/** @param {string} url @param {number} by */
function start(url, by) {
  const worker = fork(new URL("worker.mjs", import.meta.url), { env: { ...process.env, REDIS_URL: url } });
  worker.on("message", (/** @type {Message} */ { type, job }) => {
    const [customer = "", nth] = job.split("-");
    if (type === "begins") {
      if (running.some((other) => other.customer === customer)) together += 1;
      running.push({ by, job, customer, nth: Number(nth) });
    } else {
      const [ended] = running.splice(
        running.findIndex((other) => other.job === job),
        1,
      );
      if (ended !== undefined) done.push(ended);
      news.emit("done");
    }
  });
  worker.once("exit", () => {
    for (const mine of running.filter((other) => other.by === by)) running.splice(running.indexOf(mine), 1);
  });
  return worker;
}

/** @param {number} count */
async function untilDone(count) {
  while (new Set(done.map(({ job }) => job)).size < count)
    await once(news, "done", { signal: AbortSignal.timeout(30_000) });
}

await withRedis(async (url) => {
  const redis = new Redis(url);
  const customers = Object.keys(JOBS_OF);
  await redis.del("customers", ...customers.map((customer) => `jobs:${customer}`));
  const holdfast = new Holdfast(ioredisDriver(redis));
  // Those of the busy one come first, as one burst.
  for (const [customer, count] of Object.entries(JOBS_OF))
    for (let nth = 1; nth <= count; nth += 1) await add({ holdfast, redis }, customer, `${customer}-${nth}`);

  const workers = Array.from({ length: PROCESSES }, (_, by) => start(url, by));
  await untilDone(KILLED_AFTER);
  const [victim] = workers;
  victim?.kill("SIGKILL");
  const all = Object.values(JOBS_OF).reduce((sum, count) => sum + count);
  await untilDone(all);
  for (const worker of workers) if (worker.connected) worker.disconnect();
  await Promise.all(workers.map((worker) => worker.exitCode ?? worker.signalCode ?? once(worker, "exit")));

  const lastOfOthers = done.findLastIndex(({ customer }) => customer !== "busy");
  console.log(
    `the busy customer had ${done.length - 1 - lastOfOthers} jobs left when those of all others were done`,
  );
  // A job that its process could not end, or not take off its list, is done again: at once, before the next one.
  const areInOrder = customers.every((customer) => {
    const order = done.filter((job) => job.customer === customer).map(({ nth }) => nth);
    return order.every((nth, at) => at === 0 || nth === order[at - 1] || nth === (order[at - 1] ?? 0) + 1);
  });
  const isEmpty = (await redis.exists("customers", ...customers.map((customer) => `jobs:${customer}`))) === 0;
  await holdfast.close();
  redis.disconnect();
  console.log(
    `${all} jobs of five customers, a process killed: each customer's ${areInOrder ? "in order" : "NOT IN ORDER"}, ${together || "none"} at the same time, ${isEmpty ? "none" : "SOME"} missing`,
  );
  return areInOrder && together === 0 && isEmpty;
});
