// @ts-check
/** Has three processes, whose clocks differ, do the same cron jobs, and counts how often each fire is run. */
import { fork } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { withRedis } from "../with-redis.mjs";

const FIRES = 5;
const EVERY_MS = 2_000;
const SKEWS_MS = [0, 250, -400];
const WRONG = "node-cron, lock alone";

/** @typedef {{ scheduler: string, fireMs: number }} Run */

/** Each run, with the number of its process. @type {(Run & { by: number })[]} */
const runs = [];
const news = new EventEmitter();

/** @param {string} url @param {number} skewMs @param {number} by */
async function start(url, skewMs, by) {
  const member = fork(new URL("member.mjs", import.meta.url), {
    env: { ...process.env, REDIS_URL: url, SKEW_MS: String(skewMs) },
    execArgv: ["--import", new URL("skewed-clock.mjs", import.meta.url).href],
  });
  await once(member, "message");
  member.on("message", (/** @type {Run} */ run) => {
    runs.push({ ...run, by });
    news.emit("run");
  });
  return member;
}

/** Waits until each scheduler has run a fire that is so late, in whichever process. @param {number} fireMs */
async function untilAllHaveRun(fireMs) {
  const isThere = () => {
    const late = runs.filter((run) => run.fireMs >= fireMs);
    return new Set(late.map(({ scheduler }) => scheduler)).size === 5;
  };
  while (!isThere()) await once(news, "run");
}

await withRedis(async (url) => {
  const members = await Promise.all(SKEWS_MS.map((skewMs, by) => start(url, skewMs, by)));
  console.log(
    `three processes, whose clocks are wrong by ${SKEWS_MS.join(", ")} ms, a fire every ${EVERY_MS} ms\n`,
  );

  // From the second fire on all processes are there; two fires after the last one even the latest clock has come to it.
  const firstMs = (Math.ceil(Date.now() / EVERY_MS) + 1) * EVERY_MS;
  const fires = Array.from({ length: FIRES }, (_, nth) => firstMs + nth * EVERY_MS);
  await untilAllHaveRun(firstMs + (FIRES + 1) * EVERY_MS);
  for (const member of members) member.disconnect();
  await Promise.all(members.map((member) => once(member, "exit")));

  let areOnce = true;
  for (const scheduler of new Set(runs.map((run) => run.scheduler))) {
    const counts = fires.map(
      (fireMs) => runs.filter((run) => run.scheduler === scheduler && run.fireMs === fireMs).length,
    );
    const isOnce = counts.every((count) => count === 1);
    if (scheduler !== WRONG) areOnce &&= isOnce;
    console.log(
      `${scheduler.padEnd(24)} runs of each fire: ${counts.join(" ")}${isOnce ? "" : "   not once"}`,
    );
  }
  console.log(
    `\n${FIRES} fires, three processes: ${areOnce ? "each was run once" : "NOT each was run once"} by runOnce and by the coordinator`,
  );
  return areOnce;
});
