// @ts-check
/** Has 50 callers in each of four processes want one value at once, and counts how often it is made. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { Redis } from "ioredis";
import { withRedis } from "../with-redis.mjs";

const PROCESSES = 4;

/** @typedef {import("node:child_process").ChildProcess} Process */
/** @typedef {{ key: string, way: "bare" | "cached" }} Order */
/** @typedef {{ type: "load" | "ready", key: string } | { type: "served", key: string, served: number, of: number }} Message */

/** @param {string} url @returns {Promise<Process>} */
async function start(url) {
  const caller = fork(new URL("caller.mjs", import.meta.url), { env: { ...process.env, REDIS_URL: url } });
  await once(caller, "message");
  return caller;
}

/**
 * Has all callers of a process want a value.
 *
 * @param {Process} caller
 * @param {Order} order
 * @param {(message: Message) => void} note
 * @returns {Promise<unknown>} until they were served, or their process has died
 */
async function ask(caller, order, note) {
  const served = new Promise((resolve) => {
    caller.on("message", (/** @type {Message} */ message) => {
      if (message.key !== order.key) return;
      note(message);
      if (message.type === "served") resolve(undefined);
    });
  });
  caller.send(order);
  return Promise.race([served, once(caller, "exit")]);
}

/**
 * The same for all processes at once.
 *
 * @param {readonly Process[]} callers
 * @param {Order} order
 * @param {boolean} [kills] whether the process that begins to load first is killed
 */
async function want(callers, order, kills = false) {
  const counts = { loads: 0, served: 0, of: 0 };
  const asked = callers.map((caller) =>
    ask(caller, order, (message) => {
      if (message.type === "load") {
        counts.loads += 1;
        if (kills && counts.loads === 1) caller.kill("SIGKILL");
      } else if (message.type === "served") {
        counts.served += message.served;
        counts.of += message.of;
      }
    }),
  );
  await Promise.all(asked);
  return counts;
}

await withRedis(async (url) => {
  const keys = ["quote:bare", "quote:cached", "quote:killed"];
  const [bareKey = "", cachedKey = "", killedKey = ""] = keys;
  const redis = new Redis(url);
  await redis.del(...keys);
  redis.disconnect();
  const callers = await Promise.all(Array.from({ length: PROCESSES }, () => start(url)));

  const bare = await want(callers, { key: bareKey, way: "bare" });
  console.log(`without a lock:      ${bare.of} callers in ${PROCESSES} processes, ${bare.loads} loads`);

  const single = await want(callers, { key: cachedKey, way: "cached" });
  console.log(`with singleFlight:   ${single.of} callers in ${PROCESSES} processes, ${single.loads} load`);

  const taken = await want(callers, { key: killedKey, way: "cached" }, true);
  console.log(
    `its loader killed:   ${taken.of} callers in the ${PROCESSES - 1} that are left, ${taken.loads - 1} more load`,
  );

  const isServed = [bare, single, taken].every(({ served, of }) => served === of);
  for (const caller of callers) if (caller.connected) caller.disconnect();
  console.log(
    `${single.loads} load with singleFlight, ${taken.loads - 1} more after its loader died: ${isServed ? "all" : "NOT ALL"} callers were served`,
  );
  return isServed && single.loads === 1 && taken.loads === 2;
});
