import { setTimeout as sleep } from "node:timers/promises";
import { fleets } from "../support/contestants.mjs";
import { fleetOrders, orderAll, startFleet } from "../support/fleet.mjs";
import { Histogram } from "../support/histogram.mjs";
import { jainIndex } from "../support/statistics.mjs";

/** @import { Metrics, Scenario, Size, Stage } from "../support/contracts.js" */
/** @import { FleetReport } from "../support/fleet.mjs" */

/** How many clients want the lock. */
const SIZES = [8, 32, 128, 400];
const QUICK_SIZE = 4;
/** All clients have asked, those that listen do, and code that runs often is compiled. */
const SETTLE_MS = 1_500;
const QUICK_SETTLE_MS = 100;

/** @type {readonly Scenario[]} */
export const hotLocks = SIZES.map((clients) => ({
  name: `hot-lock-${clients}`,
  title: `One lock that ${clients} clients want at once`,
  about:
    "The clients are spread over 4 processes, each with a connection of its own, and take the lock, release it at once, and come back. Commands are those that clients send, not those inside scripts. A wait that has not ended counts with what it has lasted up to then.",
  columns: [
    { metric: "perSecond", heading: "acquisitions/s" },
    { metric: "commandsEach", heading: "commands each", digits: 2 },
    { metric: "jain", heading: "Jain index over clients", digits: 3 },
    { metric: "served", heading: "clients served" },
    { metric: "longestMs", heading: "longest wait ms" },
  ],
  tries: "waiting",
  contestants: fleets,
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
  await orderAll(workers, "contend");
  await sleep(quick ? QUICK_SETTLE_MS : SETTLE_MS);
  const { value, tookMs, commands } = await stage.measure(() => orderAll(workers, "count", { ms: forMs }));
  const reports = /** @type {readonly FleetReport[]} */ (value);
  const counts = reports.flatMap((report) => report.counts);
  const acquisitions = counts.reduce((sum, count) => sum + count, 0);
  const waits = new Histogram();
  for (const report of reports) waits.addAll(report.waits);
  return {
    perSecond: (acquisitions / tookMs) * 1_000,
    jain: jainIndex(counts),
    served: counts.filter((count) => count > 0).length,
    longestMs: waits.quantile(1) / 1_000,
    ...(acquisitions === 0
      ? { commandsEach: `no acquisition in ${forMs / 1_000} s` }
      : commands === undefined
        ? {}
        : { commandsEach: commands / acquisitions }),
  };
}
