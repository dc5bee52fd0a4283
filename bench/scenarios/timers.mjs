import { timerLibraries } from "../libraries/timers.mjs";
import { CHURN_WINDOW, timerOrders } from "../support/pending-timers.mjs";

/** @import { Done, Scenario } from "../support/contracts.js" */
/** @import { Cost, Load } from "../support/pending-timers.mjs" */

const TIMERS = 1_000_000;
const QUICK_TIMERS = 50_000;

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
  contestants: () => timerLibraries,

  async measure(stage, { quick }) {
    const load = { timers: quick ? QUICK_TIMERS : TIMERS };
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

  orders: timerOrders,
};

/**
 * @param {string} prefix
 * @param {Cost} cost
 */
function asMetrics(prefix, { ns, bytes }) {
  return { [`${prefix}Ns`]: ns, ...(bytes === undefined ? {} : { [`${prefix}Bytes`]: bytes }) };
}
