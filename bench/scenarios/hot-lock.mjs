import { setTimeout as sleep } from "node:timers/promises";
import { fleetsWithKinds } from "../support/contestants.mjs";
import { fleetOrders, orderAll, startFleet } from "../support/fleet.mjs";
import { Histogram } from "../support/histogram.mjs";
import { jainIndex } from "../support/statistics.mjs";

/** @import { Metrics, Scenario, Size, Stage } from "../support/contracts.js" */
/** @import { FleetReport } from "../support/fleet.mjs" */

/** How many clients want the lock. */
const SIZES = [8, 32, 128, 400];
const QUICK_SIZE = 8;
const FEW = 8;
/** All clients have asked, those that listen do, and code that runs often is compiled. */
const SETTLE_MS = 1_000;
const QUICK_SETTLE_MS = 50;
/** The few and all take turns so often, each for a part of the loop's time. */
const BATCHES = 4;
const BATCH_SETTLE_MS = 200;
/** So long is waited for a client that is to come back no more, and sleeps through a message. */
const LEAVE_WITHIN_MS = 4_000;
const QUICK_LEAVE_WITHIN_MS = 200;

/** @typedef {{ reports: readonly FleetReport[], counts: readonly number[], acquisitions: number, commands: number | undefined, perSecond: number }} Counted */

/** @type {readonly Scenario[]} */
export const hotLocks = SIZES.map((clients) => ({
  name: `hot-lock-${clients}`,
  title: `One lock that ${clients} clients want at once`,
  about:
    "The clients are spread over 4 processes, each with a connection of its own, and take the lock, release it at once, and come back; those of holdfast-fair a fair lock. After that all and 8 of them do so in turn, each four times for a quarter of the loop: whatever else the machine does hits both alike. Commands are those that clients send, not those inside scripts. A wait that has not ended counts with what it has lasted up to then.",
  columns: [
    { metric: "perSecond", heading: "acquisitions/s" },
    { metric: "toFew", heading: "to 8 clients", digits: 2 },
    { metric: "commandsEach", heading: "commands each", digits: 2 },
    { metric: "jain", heading: "Jain index over clients", digits: 3 },
    { metric: "served", heading: "clients served" },
    { metric: "longestMs", heading: "longest wait ms" },
  ],
  tries: "waiting",
  contestants: fleetsWithKinds,
  measure: (stage, size) => measureHotLock(stage, size, clients),
  orders: fleetOrders,
}));

/**
 * @param {Stage} stage
 * @param {Size} size
 * @param {number} clients
 * @returns {Promise<Metrics>}
 */
async function measureHotLock(stage, { quick, forMs }, clients) {
  const workers = await startFleet(stage, quick ? QUICK_SIZE : clients);
  const atMostMs = quick ? QUICK_LEAVE_WITHIN_MS : LEAVE_WITHIN_MS;
  /** @type {(each: number, ms: number, settleMs: number) => Promise<Counted>} */
  async function count(each, ms, settleMs) {
    await orderAll(workers, "contend", { clients: each, atMostMs });
    await sleep(quick ? QUICK_SETTLE_MS : settleMs);
    const { value, tookMs, commands } = await stage.measure(() => orderAll(workers, "count", { ms }));
    const reports = /** @type {readonly FleetReport[]} */ (value);
    const counts = reports.flatMap((report) => report.counts);
    const acquisitions = counts.reduce((sum, one) => sum + one, 0);
    return { reports, counts, acquisitions, commands, perSecond: (acquisitions / tookMs) * 1_000 };
  }

  const { reports, counts, acquisitions, commands, perSecond } = await count(clients, forMs, SETTLE_MS);
  const few = [];
  const all = [];
  for (let i = 0; i < BATCHES; i += 1) {
    few.push(await count(FEW / workers.length, forMs / BATCHES, BATCH_SETTLE_MS));
    all.push(await count(clients, forMs / BATCHES, BATCH_SETTLE_MS));
  }
  const waits = new Histogram();
  for (const report of reports) waits.addAll(report.waits);
  return {
    perSecond,
    jain: jainIndex(counts),
    served: counts.filter((count) => count > 0).length,
    longestMs: waits.quantile(1) / 1_000,
    ...ratioTo(totalOf(few), totalOf(all)),
    ...(acquisitions === 0 || commands === undefined
      ? { commandsEach: `no acquisition in ${forMs / 1_000} s` }
      : { commandsEach: commands / acquisitions }),
  };
}

/**
 * @param {number} few
 * @param {number} all
 */
function ratioTo(few, all) {
  return few === 0 ? {} : { toFew: all / few };
}

/** @param {readonly Counted[]} batches */
function totalOf(batches) {
  return batches.reduce((sum, { perSecond }) => sum + perSecond, 0);
}
