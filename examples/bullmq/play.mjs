// @ts-check
/** Gives two processes with four workers each the jobs of some customers, and looks which ran at the same time. */
import { fork } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { Queue } from "bullmq";
import { Holdfast } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";
import { withRedis } from "../with-redis.mjs";

const QUEUE = "holdfast-example";

/** @typedef {{ type: "ends", name: string, customer: string, fromMs: number, toMs: number }} Run */
/** @typedef {Run | { type: "begins" | "ready", name: string } | { type: "stops", name: string, reason: string }} Message */

/** @type {Run[]} */
const runs = [];
/** Tells of a job by its name and what has become of it, as in "a-1 ends". */
const news = new EventEmitter().setMaxListeners(100);

/** @param {string} url */
async function start(url) {
  const member = fork(new URL("member.mjs", import.meta.url), {
    env: { ...process.env, REDIS_URL: url, QUEUE },
  });
  await once(member, "message");
  member.on("message", (/** @type {Message} */ message) => {
    if (message.type === "ends") runs.push(message);
    if (message.type === "stops") console.log(`  ${message.name} was stopped: ${message.reason}`);
    news.emit(`${message.name} ${message.type}`);
  });
  return member;
}

/** @param {string} customer @param {number} count @param {number} ms */
const jobsOf = (customer, count, ms) =>
  Array.from({ length: count }, (_, nth) => ({
    name: `${customer}-${nth + 1}`,
    data: { customer, ms },
    opts: { attempts: 2 },
  }));

/** The most that ran at one moment. @param {readonly Run[]} among */
function atOnce(among) {
  const counts = among.map(
    ({ fromMs }) => among.filter((run) => run.fromMs <= fromMs && fromMs < run.toMs).length,
  );
  return Math.max(0, ...counts);
}

/** @param {string} name */
const run = (name) => runs.find((one) => one.name === name);

await withRedis(async (url) => {
  const queue = new Queue(QUEUE, { connection: { url } });
  await queue.obliterate({ force: true });
  const redis = new Redis(url);
  const holdfast = new Holdfast(ioredisDriver(redis));
  const members = await Promise.all([start(url), start(url)]);
  /** @param {ReturnType<typeof jobsOf>} jobs */
  const done = async (jobs) => {
    const ends = jobs.map(({ name }) => once(news, `${name} ends`));
    await queue.addBulk(jobs);
    await Promise.all(ends);
  };

  console.log("18 jobs of three customers, for eight workers in two processes:");
  await done(["a", "b", "c"].flatMap((customer) => jobsOf(customer, 6, 100)));
  const most = Math.max(
    ...["a", "b", "c"].map((name) => atOnce(runs.filter(({ customer }) => customer === name))),
  );
  console.log(`  at most ${most} at once for a customer, ${atOnce(runs)} at once in all`);

  console.log("a job of customer d that takes 2 seconds, nine more of d behind it, then one of customer e:");
  const [long, ...others] = [
    ...jobsOf("d", 1, 2_000),
    ...jobsOf("d", 10, 20).slice(1),
    ...jobsOf("e", 1, 20),
  ];
  const begins = once(news, "d-1 begins");
  const ends = long === undefined ? undefined : done([long]);
  await begins;
  await Promise.all([ends, done(others)]);
  const passes = (run("e-1")?.toMs ?? 0) < (run("d-1")?.toMs ?? 0);
  console.log(
    `  that of e ${passes ? "was done while d's first still ran: those that wait keep no worker" : "HAD TO WAIT"}`,
  );

  console.log("somebody frees the lock of customer f by force, while its job runs:");
  const lost = jobsOf("f", 1, 3_000);
  const works = once(news, "f-1 begins");
  const again = done(lost);
  await works;
  await holdfast.getLock("customer:f").forceUnlock();
  await again;
  console.log("  BullMQ has tried it again, and it is done");

  for (const member of members) member.kill("SIGTERM");
  await Promise.all(members.map((member) => once(member, "exit")));
  await holdfast.close();
  redis.disconnect();
  await queue.obliterate({ force: true });
  await queue.close();

  const mostOfAny = Math.max(
    ...[..."abcdef"].map((name) => atOnce(runs.filter(({ customer }) => customer === name))),
  );
  console.log(`${runs.length} jobs done, ${mostOfAny === 1 ? "never two" : "TWO"} of a customer at once`);
  return mostOfAny === 1 && passes && runs.length === 30;
});
