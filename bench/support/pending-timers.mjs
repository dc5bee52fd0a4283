/** @import { OrderHandler, Scenario } from "./contracts.js" */

const WARM_UP_TIMERS = 20_000;
const LONGEST_DELAY_MS = 60_000;
/** No timer is due while one is measured: what is compared is keeping and dropping them. */
const SHORTEST_DELAY_MS = 20_000;
const ONE_DELAY_MS = 30_000;
/** So many are pending in churn. */
export const CHURN_WINDOW = 1_000;

/**
 * @typedef {object} Timers
 * @property {(delayMs: number, task: () => void) => unknown} schedule
 * @property {(handle: any) => void} cancel
 */

/** @typedef {{ timers: number, delays: "mixed" | "one" }} Load */
/** @typedef {{ ns: number, bytes?: number }} Cost of one timer; bytes: of one that is pending */

/** @type {Scenario["orders"]} */
export const timerOrders = { hold: warmedUp(hold), churn: warmedUp(churn) };

/**
 * @param {(timers: Timers, delays: number[]) => Cost} measure
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
    measure(contestants, delays.slice(0, WARM_UP_TIMERS));
    return measure(contestants, delays);
  };
}

/**
 * All pending at once, then all cancelled.
 *
 * @param {Timers} timers
 * @param {number[]} delays
 */
function hold({ schedule, cancel }, delays) {
  const handles = new Array(delays.length).fill(null);
  const heapBefore = heapAfterCollection();
  const scheduleStartNs = cpuNs();
  delays.forEach((delayMs, i) => {
    handles[i] = schedule(delayMs, task);
  });
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
function churn({ schedule, cancel }, delays) {
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
