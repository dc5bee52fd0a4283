import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { noServer } from "../support/servers.mjs";

/** @import { Done, Library, OpenSettings, OrderHandler, Scenario } from "../support/contracts.js" */

const TIMERS = 1_000_000;
const QUICK_TIMERS = 50_000;
const WARM_UP_TIMERS = 20_000;
const LONGEST_DELAY_MS = 60_000;
/** No timer is due while one is measured: what is compared is keeping and dropping them. */
const SHORTEST_DELAY_MS = 20_000;
const ONE_DELAY_MS = 30_000;
/** Long enough for the wheel to move a million new timeouts into its buckets, 100,000 each 100 ms. */
const SETTLE_MS = 1_500;
const QUICK_SETTLE_MS = 200;
const CHURN_WINDOW = 1_000;

/**
 * @typedef {object} Timers
 * @property {(delayMs: number, task: () => void) => unknown} schedule
 * @property {(handle: any) => void} cancel
 */

/** @typedef {{ timers: number, delays: "mixed" | "one", settleMs: number }} Load */
/** @typedef {{ ns: number, bytes?: number }} Cost of one timer; bytes: of one that is pending */

/** @type {Scenario} */
export const timers = {
  name: "timers",
  title: "Pending timers: the wheel beside setTimeout",
  about: `Processor time for each timer that is scheduled and cancelled, and heap for each that is pending, without its task. Held: ${TIMERS.toLocaleString("en")} pending at once. Churn: ${CHURN_WINDOW.toLocaleString("en")} pending, each new one replaces the oldest.`,
  columns: [
    { metric: "holdMixedNs", heading: "held, mixed delays: ns" },
    { metric: "holdMixedBytes", heading: "bytes" },
    { metric: "holdOneNs", heading: "held, one delay: ns" },
    { metric: "holdOneBytes", heading: "bytes" },
    { metric: "churnMixedNs", heading: "churn, mixed delays: ns" },
    { metric: "churnOneNs", heading: "churn, one delay: ns" },
  ],
  tries: "timers",
  contestants: () => [contestant("setTimeout", openTimeouts), contestant("wheel", openWheel)],

  async measure(stage, { quick }) {
    const load = quick
      ? { timers: QUICK_TIMERS, settleMs: QUICK_SETTLE_MS }
      : { timers: TIMERS, settleMs: SETTLE_MS };
    // A million timers leave a heap and optimized code behind that the next measurement would inherit.
    const inItsOwnProcess = async (/** @type {string} */ order, /** @type {Load["delays"]} */ delays) => {
      const worker = await stage.worker();
      const done = /** @type {Done<Cost>} */ (await worker.order(order, { ...load, delays }));
      await worker.stop();
      return done.value;
    };
    return {
      ...asMetrics("holdMixed", await inItsOwnProcess("hold", "mixed")),
      ...asMetrics("holdOne", await inItsOwnProcess("hold", "one")),
      ...asMetrics("churnMixed", await inItsOwnProcess("churn", "mixed")),
      ...asMetrics("churnOne", await inItsOwnProcess("churn", "one")),
    };
  },

  orders: { hold: warmedUp(hold), churn: warmedUp(churn) },
};

/**
 * @param {string} prefix
 * @param {Cost} cost
 */
function asMetrics(prefix, { ns, bytes }) {
  return { [`${prefix}Ns`]: ns, ...(bytes === undefined ? {} : { [`${prefix}Bytes`]: bytes }) };
}

/**
 * @param {string} name
 * @param {(settings: OpenSettings) => Promise<Timers>} open
 * @returns {Library}
 */
function contestant(name, open) {
  return {
    name,
    role: "other",
    server: noServer,
    packages: [],
    claims: { kinds: [], waits: false, renews: false },
    open: async (settings) => ({ timers: await open(settings), acquire: refuse, release: refuse }),
  };
}

/** @returns {Promise<never>} */
async function refuse() {
  throw new Error("this is no lock");
}

/** @returns {Promise<Timers>} */
async function openTimeouts() {
  return { schedule: (delayMs, task) => setTimeout(task, delayMs), cancel: clearTimeout };
}

/**
 * @param {OpenSettings} settings
 * @returns {Promise<Timers>}
 */
async function openWheel({ dist }) {
  const load = (/** @type {string} */ file) => import(pathToFileURL(join(dist, file)).href);
  const { HashedWheelTimer } = await load("runtime/hashed-wheel-timer.js");
  const { systemClock } = await load("clock.js");
  const wheel = new HashedWheelTimer(systemClock);
  return {
    schedule: (delayMs, task) => wheel.schedule(delayMs, task),
    cancel: (timeout) => timeout.cancel(),
  };
}

/**
 * @param {(timers: Timers, delays: number[], settleMs: number) => Promise<Cost>} measure
 * @returns {OrderHandler}
 */
function warmedUp(measure) {
  return async (connection, /** @type {Load} */ load) => {
    const { timers: contestants } = /** @type {{ timers: Timers }} */ (/** @type {unknown} */ (connection));
    const random = lcg(42);
    const delays = Array.from({ length: load.timers }, () =>
      load.delays === "one" ? ONE_DELAY_MS : mixedDelay(random),
    );
    // One small round first, so that both are measured as optimized code.
    await measure(contestants, delays.slice(0, WARM_UP_TIMERS), 0);
    return measure(contestants, delays, load.settleMs);
  };
}

/**
 * All pending at once, long enough that the wheel has sorted them into buckets, then all cancelled.
 *
 * @param {Timers} timers
 * @param {number[]} delays
 * @param {number} settleMs
 */
async function hold({ schedule, cancel }, delays, settleMs) {
  const handles = new Array(delays.length).fill(null);
  const heapBefore = heapAfterCollection();
  const scheduleStartNs = cpuNs();
  delays.forEach((delayMs, i) => {
    handles[i] = schedule(delayMs, task);
  });
  await sleep(settleMs);
  const scheduleNs = cpuNs() - scheduleStartNs;
  const bytes = (heapAfterCollection() - heapBefore) / delays.length;

  const cancelStartNs = cpuNs();
  for (const handle of handles) cancel(handle);
  return { ns: (scheduleNs + cpuNs() - cancelStartNs) / delays.length, bytes };
}

/**
 * A few pending, each new one replacing the oldest: what time limits on short work do.
 *
 * @param {Timers} timers
 * @param {number[]} delays
 */
async function churn({ schedule, cancel }, delays) {
  const handles = delays.slice(0, CHURN_WINDOW).map((delayMs) => schedule(delayMs, task));
  globalThis.gc?.();
  const startNs = cpuNs();
  delays.forEach((delayMs, i) => {
    const slot = i % CHURN_WINDOW;
    cancel(handles[slot]);
    handles[slot] = schedule(delayMs, task);
  });
  const ns = (cpuNs() - startNs) / delays.length;
  for (const handle of handles) cancel(handle);
  return { ns };
}

function heapAfterCollection() {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

/** Time on all processors, garbage collection included: unlike time on the wall, other processes do not lengthen it. */
function cpuNs() {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1_000;
}

function task() {}

/** @param {() => number} random */
function mixedDelay(random) {
  return SHORTEST_DELAY_MS + Math.floor(random() * (LONGEST_DELAY_MS - SHORTEST_DELAY_MS));
}

/**
 * The same delays in every process.
 *
 * @param {number} seed
 */
function lcg(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
