import { doTasks, drain } from "./do-tasks.mjs";
import { Histogram } from "./histogram.mjs";
import { jainIndex } from "./statistics.mjs";

/** @import { Done, Kind, Metrics, Scenario, Size, Stage, TaskReport } from "./contracts.js" */

/** Whoever sleeps through a message gets its lock when this is over. */
const TTL_MS = 3_000;
/** So often code has run when it is optimized. */
const WARM_AFTER = 10_000;
/** So often the measured time is spent on it at the most. */
const MAX_WARM_UPS = 3;
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
  let warm = 0;
  for (let i = 0; i < (quick ? 1 : MAX_WARM_UPS) && warm < WARM_AFTER * length; i += 1) {
    warm += acquisitionsIn((await doAll(forMs)).map((done) => done.value));
    const atMostMs = quick ? QUICK_DRAIN_MS : DRAIN_MS;
    await Promise.all(workers.map((worker) => worker.order("drain", { atMostMs })));
  }
  const { value, commands, serverCpuUs } = await stage.measure(() => doAll(forMs));

  const reports = value.map((done) => done.value);
  const counts = reports.flatMap((report) => report.counts);
  const acquisitions = acquisitionsIn(reports);
  if (acquisitions === 0) throw new Error("nobody has had a lock");
  const waits = new Histogram();
  for (const report of reports) waits.addAll(report.waits);
  const cpuUs = value.reduce((sum, done) => sum + (done.value.cpuUs ?? done.cpuUs), 0);
  return {
    perSecond: reports.reduce((sum, report) => sum + acquisitionsIn([report]) / report.tookMs, 0) * 1_000,
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

/** @param {readonly TaskReport[]} reports */
function acquisitionsIn(reports) {
  return reports.flatMap((report) => report.counts).reduce((sum, count) => sum + count, 0);
}
