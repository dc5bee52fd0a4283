import { setTimeout as sleep } from "node:timers/promises";
import { fleets } from "../support/contestants.mjs";
import { fleetOrders, orderAll, startFleet } from "../support/fleet.mjs";

/** @import { Metrics, Scenario, Size, Stage } from "../support/contracts.js" */

const WAITERS = 1_000;
const QUICK_WAITERS = 8;
/** Long enough for all to have begun to wait, and for a second of waiting before it ends. */
const TTL_MS = 15_000;
const QUICK_TTL_MS = 4_000;
/** A busy server is asked so long before the TTL's end, as its answer is late. */
const SLACK_MS = 500;
const QUICK_SLACK_MS = 1_500;
/** Fleets do not begin to wait in one moment. */
const SPREAD_MS = 4_500;
const QUICK_SPREAD_MS = 100;
/** So that nothing of it falls into the two seconds: it would hide what the killed holder costs. */
const SAFETY_PERIOD_MS = 60_000;
const SECOND_MS = 1_000;
const QUICK_SECOND_MS = 300;
/** A client that is not in by then is not waited for. */
const IN_WITHIN_MS = 5_000;
const QUICK_IN_WITHIN_MS = 500;
/** The lock's key, as each library names it, and nothing that lies beside it. */
const KEY_PATTERN = "*lock";

/** @type {Scenario} */
export const killedHolder = {
  name: "killed-holder",
  title: `${WAITERS.toLocaleString("en")} clients wait, the holder is killed`,
  about:
    "The clients are spread over 4 processes, each with a connection of its own; they begin to wait one after the other, within 4.5 s. A process of its own has the lock with a fixed lease, and is ended by SIGKILL. Counted is what clients send in a second before the TTL's end, and how much more they send up to a second after it. The safety period of holdfast is 60 s here: at its default of 5 s a thousand waiting clients ask 220 times in any second. The first client that is in keeps the lock.",
  columns: [
    { metric: "commandsBefore", heading: "commands in the second before" },
    { metric: "commandsAbove", heading: "above that in the second after" },
    { metric: "firstInMs", heading: "first in after ms", digits: 1 },
  ],
  tries: "waiting",
  contestants: fleets,
  measure: measureKilledHolder,
  orders: fleetOrders,
};

/**
 * @param {Stage} stage
 * @param {Size} size
 * @returns {Promise<Metrics>}
 */
async function measureKilledHolder(stage, { quick }) {
  const secondMs = quick ? QUICK_SECOND_MS : SECOND_MS;
  const ttlMs = quick ? QUICK_TTL_MS : TTL_MS;
  const slackMs = quick ? QUICK_SLACK_MS : SLACK_MS;
  const withinMs = quick ? QUICK_IN_WITHIN_MS : IN_WITHIN_MS;
  const workers = await startFleet(stage, quick ? QUICK_WAITERS : WAITERS, {
    holdfastOptions: { safetyPeriodMs: SAFETY_PERIOD_MS },
  });
  const holder = await stage.worker();
  await holder.order("hold", { ttlMs });
  const endMs = await endOfTtl(stage.port);
  await orderAll(workers, "wait", { ttlMs, spreadMs: quick ? QUICK_SPREAD_MS : SPREAD_MS });
  process.kill(holder.pid, "SIGKILL");

  await sleep(endMs - performance.now() - secondMs - slackMs);
  const before = await stage.measure(() => sleep(secondMs));
  const lastMs = endMs - performance.now() + withinMs;
  if (lastMs < withinMs) return { firstInMs: `the server is ${Math.round(withinMs - lastMs)} ms late` };
  const first = orderAll(workers, "firstIn", { withinMs: lastMs });
  const after = await stage.measure(() => sleep(endMs + secondMs - performance.now()));
  const moments = (await first).filter((moment) => moment !== null && moment !== undefined);

  const offsetMs = Number(process.hrtime.bigint()) / 1e6 - performance.now();
  const firstMs = Math.min(...moments.map((ns) => Number(ns) / 1e6 - offsetMs));
  const result = { firstInMs: moments.length === 0 ? `not in ${withinMs / 1_000} s` : firstMs - endMs };
  if (before.commands === undefined || after.commands === undefined) return result;
  const commandsBefore = (before.commands / before.tookMs) * secondMs;
  return {
    ...result,
    commandsBefore,
    commandsAbove: after.commands - (commandsBefore / secondMs) * after.tookMs,
  };
}

/**
 * When the lock falls, by `performance.now()`.
 *
 * @param {number} port
 */
async function endOfTtl(port) {
  const { Redis } = await import("ioredis");
  const redis = new Redis({ host: "127.0.0.1", port });
  try {
    const [key] = await redis.keys(KEY_PATTERN);
    if (key === undefined) throw new Error("the holder has no lock");
    const askedMs = performance.now();
    const leftMs = await redis.pttl(key);
    return (askedMs + performance.now()) / 2 + leftMs;
  } finally {
    redis.disconnect();
  }
}
