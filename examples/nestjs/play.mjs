// @ts-check
/** Plays clients of two processes that run the same Nest application, and of one that has no Redis. */
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { Redis } from "ioredis";
import { withRedis } from "../with-redis.mjs";

const REPORTS = 3;
const orders = ["lamp-100", "sofa-3000", "desk-100", "shelf-1500"];

/** @param {string} url of Redis @param {{ quiet?: boolean }} [options] quiet: its log is not shown */
async function start(url, { quiet = false } = {}) {
  const env = { ...process.env, REDIS_URL: url };
  const log = quiet ? "ignore" : "inherit";
  const child = fork(new URL("build/main.js", import.meta.url), { env, stdio: [log, log, log, "ipc"] });
  const ended = once(child, "exit").then(([code]) => assert.fail(`the application ended with ${code}`));
  const [address] = await Promise.race([once(child, "message"), ended]);
  ended.catch(() => undefined);
  return { child, url: `http://127.0.0.1:${address.port}` };
}

/** @param {{ url: string }} server @param {string} id */
async function pay(server, id) {
  const response = await fetch(`${server.url}/orders/${id}/pay`, {
    method: "POST",
    headers: { connection: "close" },
  });
  return { status: response.status, text: await response.text(), after: response.headers.get("retry-after") };
}

/** @param {{ url: string }} server */
async function health(server) {
  const response = await fetch(`${server.url}/health`);
  return { status: response.status, locks: (await response.json()).details.locks.status };
}

/** @param {Redis} redis */
async function listen(redis) {
  const messages = redis.duplicate();
  /** @type {string[]} */
  const heard = [];
  await messages.subscribe("shop");
  messages.on("message", (_, text) => heard.push(text));
  return {
    /** @param {(heard: readonly string[]) => boolean} isEnough */
    until: async (isEnough) => {
      while (!isEnough(heard)) await once(messages, "message");
    },
    end: () => messages.disconnect(),
  };
}

await withRedis(async (url) => {
  const redis = new Redis(url);
  await redis.del("shop:reports", ...orders.flatMap((id) => [`shop:${id}:paid`, `shop:${id}:payments`]));
  const shop = await listen(redis);
  const [a, b, away] = await Promise.all([
    start(url),
    start(url),
    // It logs each of its cron jobs that fails.
    start("redis://127.0.0.1:1", { quiet: true }),
  ]);
  try {
    const answers = await Promise.all([a, b, a].map((server) => pay(server, "lamp-100")));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 201, 201],
    );
    assert.equal(answers.filter(({ text }) => text === "is paid").length, 1);
    console.log("three clients pay one order at once: it is paid once, and the others hear that");

    const first = pay(a, "sofa-3000");
    await shop.until((heard) => heard.includes("sofa-3000 is charged"));
    const busy = await pay(b, "sofa-3000");
    assert.deepEqual([busy.status, busy.after, (await first).status], [409, "2", 201]);
    console.log("the bank takes long: the second client has a 409 with Retry-After, the first its 201");

    assert.deepEqual(await health(a), { status: 200, locks: "up" });
    assert.deepEqual(await health(away), { status: 503, locks: "down" });
    const { status, after } = await pay(away, "desk-100");
    assert.deepEqual([status, after], [503, "2"]);
    assert.equal((await pay(b, "desk-100")).status, 201);
    console.log("a process without Redis says so: its health is down, its orders have a 503");

    await shop.until((heard) => heard.filter((text) => text === "a report is made").length >= REPORTS);
    const reports = await redis.lrange("shop:reports", 0, REPORTS - 1);
    const runs = await redis.keys("holdfast_once:*Reports.report*");
    console.log(`the cron job of both processes has run ${reports.length} times, of ${runs.length} marks`);
    const areOnce = (await redis.llen("shop:reports")) <= runs.length;

    const last = pay(a, "shelf-1500");
    await shop.until((heard) => heard.includes("shelf-1500 is charged"));
    const exit = once(a.child, "exit");
    a.child.kill("SIGTERM");
    assert.equal((await last).status, 201);
    assert.deepEqual(await exit, [null, "SIGTERM"]);
    assert.equal(await redis.exists("order:shelf-1500"), 0);
    console.log("SIGTERM: the order is paid, its lock is freed, and the process ends");

    const payments = await redis.mget(orders.map((id) => `shop:${id}:payments`));
    const arePaidOnce = payments.every((times) => times === "1");
    console.log(
      `${orders.length} orders: ${arePaidOnce ? "each was paid once" : `paid ${payments} times`}; ${REPORTS} times of the cron job: ${areOnce ? "each was run once" : "NOT each was run once"}`,
    );
    return arePaidOnce && areOnce;
  } finally {
    for (const { child } of [a, b, away]) child.kill("SIGKILL");
    shop.end();
    redis.disconnect();
  }
});
