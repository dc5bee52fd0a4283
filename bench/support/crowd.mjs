import { doTasks, drain } from "./do-tasks.mjs";
import { Histogram } from "./histogram.mjs";
import { jainIndex } from "./statistics.mjs";

/** @import { Done, Kind, Metrics, Scenario, Size, Stage, TaskReport } from "./contracts.js" */

/** Whoever sleeps through a message gets its lock when this is over. */
const TTL_MS = 3_000;
/** Until code is optimized that has run some ten thousand times. */
const WARM_UP_PART = 1;
const QUICK_WARM_UP_PART = 0.2;
/** Longer than the lease of a lock whose waiters sleep through its release. */
const DRAIN_MS = 5_000;
const QUICK_DRAIN_MS = 200;
const QUICK_PROCESSES = 2;

/**
 * @typedef {object} Crowd
 * @property {number} processes
 * @property {number} tasks of each process
 * @property {"one" | "each"} locks one lock for all, or one for each task
 * @property {readonly Kind[]} [kinds] taken in turns. Default: plain
 * @property {number} [holdMs] default: released at once
 */

/**
 * Measures tasks that take locks and release them, in a loop.
 *
 * @param {Stage} stage
 * @param {Size} size
 * @param {Crowd} crowd
 * @returns {Promise<Metrics>}
 */
export async function measureCrowd(
  stage,
  { quick, forMs },
  { processes, kinds = ["plain"], holdMs = 0, ...rest },
) {
  const plan = { ...rest, kinds, holdMs, ttlMs: TTL_MS };
  const length = quick ? Math.min(QUICK_PROCESSES, processes) : processes;
  const workers = await Promise.all(Array.from({ length }, () => stage.worker()));
  const doAll = (/** @type {number} */ ms) =>
    Promise.all(
      workers.map(
        (worker) =>
          /** @type {Promise<Done<TaskReport>>} */ (worker.order("doTasks", { ...plan, forMs: ms })),
      ),
    );
  await doAll(forMs * (quick ? QUICK_WARM_UP_PART : WARM_UP_PART));
  await Promise.all(
    workers.map((worker) => worker.order("drain", { atMostMs: quick ? QUICK_DRAIN_MS : DRAIN_MS })),
  );
  const { value, commands, serverCpuUs } = await stage.measure(() => doAll(forMs));

  const reports = value.map((done) => done.value);
  const counts = reports.flatMap((report) => report.counts);
  const acquisitions = counts.reduce((sum, count) => sum + count, 0);
  if (acquisitions === 0) throw new Error("nobody has had a lock");
  const waits = new Histogram();
  for (const report of reports) waits.addAll(report.waits);
  const cpuUs = value.reduce((sum, done) => sum + (done.value.cpuUs ?? done.cpuUs), 0);
  return {
    perSecond: reports.reduce((sum, { counts: own, tookMs }) => sum + perSecond(own, tookMs), 0),
    p50Us: waits.quantile(0.5),
    p99Us: waits.quantile(0.99),
    jain: jainIndex(counts),
    served: counts.filter((count) => count > 0).length,
    clientCpuUs: cpuUs / acquisitions,
    ...(commands === undefined ? {} : { commandsEach: commands / acquisitions }),
    ...(serverCpuUs === undefined ? {} : { serverCpuUs: serverCpuUs / acquisitions }),
  };
}

/** @type {Scenario["orders"]} */
export const crowdOrders = { doTasks, drain };

/**
 * @param {readonly number[]} counts
 * @param {number} tookMs
 */
function perSecond(counts, tookMs) {
  return (counts.reduce((sum, count) => sum + count, 0) / tookMs) * 1_000;
}
