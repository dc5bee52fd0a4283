import { setTimeout as sleep } from "node:timers/promises";
import { doTasks, drain } from "./do-tasks.mjs";
import { quantile } from "./statistics.mjs";

/** @import { Column, Connection, Done, Kind, Metrics, Scenario, Size, Stage, TaskPlan } from "./contracts.js" */

const TTL_MS = 3_000;
/** The waiter has long been idle when the lock is released. */
const PARKED_MS = 40;
/** The answer to the main process is not to compete with the waiter for the processor. */
const QUIET_MS = 5;
const WARM_UP_HAND_OVERS = 5;

/** @type {readonly Column[]} */
export const handOverColumns = [
  { metric: "p50Us", heading: "µs, p50" },
  { metric: "p99Us", heading: "p99" },
  { metric: "commandsEach", heading: "commands each", digits: 2 },
  { metric: "handOvers", heading: "hand-overs" },
];

/**
 * A lock goes to and fro between two processes, whose monotonic clocks are the machine's.
 *
 * @param {Stage} stage
 * @param {Size} size
 * @param {Kind} kind
 * @returns {Promise<Metrics>}
 */
export async function measureHandOver(stage, { forMs }, kind) {
  const [first, second] = await Promise.all([stage.worker(), stage.worker()]);
  // Code that has hardly ever run is slow, and hand-overs alone are too few for it: both contend for another lock first.
  await Promise.all([first.order("warmUp", { kind, forMs }), second.order("warmUp", { kind, forMs })]);
  let [holder, waiter] = [first, second];
  await holder.order("take", { kind });

  async function handOver() {
    const taken = /** @type {Promise<Done<string>>} */ (waiter.order("take", { kind }));
    const released = /** @type {Promise<Done<string>>} */ (holder.order("releaseLater"));
    const [{ value: takenNs }, { value: releasedNs }] = await Promise.all([taken, released]);
    [holder, waiter] = [waiter, holder];
    return Number(BigInt(takenNs) - BigInt(releasedNs)) / 1_000;
  }

  for (let i = 0; i < WARM_UP_HAND_OVERS; i += 1) await handOver();
  /** @type {number[]} */
  const us = [];
  const { commands } = await stage.measure(async () => {
    const endMs = performance.now() + forMs;
    do us.push(await handOver());
    while (performance.now() < endMs);
  });
  return {
    p50Us: quantile(us, 0.5),
    p99Us: quantile(us, 0.99),
    handOvers: us.length,
    ...(commands === undefined ? {} : { commandsEach: commands / us.length }),
  };
}

/** @type {unknown} */
let held;

/** @type {Scenario["orders"]} */
export const handOverOrders = {
  /**
   * @param {Connection} connection
   * @param {{ kind: Kind, forMs: number }} options
   */
  async warmUp(connection, { kind, forMs }) {
    const plan = { tasks: 1, forMs, locks: "each", kinds: [kind], ttlMs: TTL_MS, holdMs: 0 };
    await doTasks(connection, /** @type {TaskPlan} */ (plan));
    await drain(connection, { atMostMs: TTL_MS });
  },

  /**
   * @param {Connection} connection
   * @param {{ kind: Kind }} options
   */
  async take(connection, { kind }) {
    held = await connection.acquire("lock", { ttlMs: TTL_MS, kind });
    return String(connection.momentOf?.(held) ?? process.hrtime.bigint());
  },

  /** @param {Connection} connection */
  async releaseLater(connection) {
    await sleep(PARKED_MS);
    const releasedNs = process.hrtime.bigint();
    const done = await connection.release(held);
    await sleep(QUIET_MS);
    return String(connection.momentOf?.(done) ?? releasedNs);
  },
};
