// @ts-check
/** Has two processes pay into one account: with what was there before, with holdfast, and one with each, as in a rolling deploy. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { Redis } from "ioredis";
import { withRedis } from "../with-redis.mjs";

const TIMES = 50;
/** Where both exclude each other. */
const ROLLING = ["redlock-5", "redlock-4", "redis-semaphore", "node-redisson", "shedlock"];
/** What excludes within one process. */
const INSIDE = ["async-mutex", "async-lock", "bottleneck"];

/** @param {string} url @param {readonly string[]} programs @returns {Promise<number>} how many of the payments were lost */
async function lost(url, programs) {
  const redis = new Redis(url);
  // Another kind of lock may have left something under the same name.
  await redis.del(
    "account:42",
    "mutex:account:42",
    "job-lock:prod:nightly",
    "deposits",
    "{deposits}:timeout",
  );
  await redis.set("balance", 0);
  const processes = await Promise.all(
    programs.map(async (program) => {
      const file = new URL(program, import.meta.url).href;
      const child = fork(new URL("depositor.mjs", import.meta.url), [file, String(TIMES)], {
        env: { ...process.env, REDIS_URL: url },
      });
      await once(child, "message");
      return child;
    }),
  );
  const ends = processes.map((child) => once(child, "exit"));
  for (const child of processes) child.send("go");
  for (const [code] of await Promise.all(ends))
    if (code !== 0) throw new Error(`${programs.join(", ")}: ended with ${code}`);
  const balance = Number(await redis.get("balance"));
  redis.disconnect();
  return TIMES * programs.length - balance;
}

await withRedis(async (url) => {
  let isRight = true;
  for (const name of [...ROLLING, ...INSIDE]) {
    const [before, after] = [`./${name}/before.mjs`, `./${name}/after.mjs`];
    const inside = INSIDE.includes(name);
    const was = await lost(url, [before, before]);
    const is = await lost(url, [after, after]);
    const beside = inside ? undefined : await lost(url, [before, after]);
    isRight &&= is === 0 && (beside ?? 0) === 0;
    const rolling = beside === undefined ? "" : `, ${beside} with one of each`;
    console.log(
      `${name.padEnd(16)} of ${2 * TIMES} payments lost: ${was} before, ${is} with holdfast${rolling}`,
    );
  }
  const all = ROLLING.length + INSIDE.length;
  console.log(
    `${all} ways over: ${isRight ? "no update was lost" : "UPDATES WERE LOST"} with holdfast, nor beside what was there before`,
  );
  return isRight;
});
