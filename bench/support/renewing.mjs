import { setTimeout as sleep } from "node:timers/promises";

/** @import { Column, Connection, Done, Metrics, Scenario, Stage } from "./contracts.js" */

/** So many are asked for at a time. */
const AT_ONCE = 200;
/** How many renewals of each lock are measured. */
const RENEWALS = 5;

/** @type {readonly Column[]} */
export const renewingColumns = [
  { metric: "commandsPerSecond", heading: "commands/s" },
  { metric: "clientCpuPercent", heading: "client CPU %", digits: 2 },
  { metric: "serverCpuPercent", heading: "server CPU %", digits: 2 },
  { metric: "lost", heading: "locks lost" },
];

/**
 * One process keeps so many locks, each renewed each `renewEachMs`.
 *
 * @param {Stage} stage
 * @param {{ locks: number, renewEachMs: number }} load
 * @returns {Promise<Metrics>}
 */
export async function measureRenewing(stage, { locks, renewEachMs }) {
  const worker = await stage.worker({ renewEachMs });
  await worker.order("hold", { locks });
  // Each has been renewed once: what is sent or compiled once only is over.
  await sleep(renewEachMs);
  const ms = RENEWALS * renewEachMs;
  const { value, tookMs, commands, serverCpuUs } = await stage.measure(() => worker.order("idle", { ms }));
  const { value: kept } = /** @type {Done<number>} */ (await worker.order("countKeys"));
  return {
    clientCpuPercent: value.cpuUs / tookMs / 10,
    lost: Math.max(0, locks - kept),
    ...(commands === undefined ? {} : { commandsPerSecond: (commands / tookMs) * 1_000 }),
    ...(serverCpuUs === undefined ? {} : { serverCpuPercent: serverCpuUs / tookMs / 10 }),
  };
}

/** @type {unknown[]} a lock that nobody keeps may be collected */
const held = [];

/** @type {Scenario["orders"]} */
export const renewingOrders = {
  /**
   * @param {Connection} connection
   * @param {{ locks: number }} options
   */
  async hold(connection, { locks }) {
    for (let first = 0; first < locks; first += AT_ONCE) {
      const count = Math.min(AT_ONCE, locks - first);
      const some = Array.from({ length: count }, (_, i) => connection.acquire(`lock:${first + i}`, {}));
      held.push(...(await Promise.all(some)));
    }
  },

  /**
   * @param {Connection} _
   * @param {{ ms: number }} options
   */
  idle: (_, { ms }) => sleep(ms),

  /** Those that have run out are not counted, though the server may still have them. */
  async countKeys(_connection, _options, { port }) {
    const { Redis } = await import("ioredis");
    const redis = new Redis({ host: "127.0.0.1", port });
    return (await redis.keys("*lock:*")).length;
  },
};
