// @ts-check
// #region node-cron
import { runOnce } from "holdfast/recipes";
import cron from "node-cron";

/**
 * @param {import("holdfast").Holdfast} holdfast
 * @param {string} schedule
 * @param {(signal: AbortSignal) => unknown} report
 */
export function nightly(holdfast, schedule, report) {
  return cron.schedule(schedule, ({ date }) =>
    // node-cron passes the time of the fire: the same in all processes, also in one that comes to it late.
    runOnce(holdfast, { name: "nightly", fireTime: date }, ({ signal }) => report(signal)),
  );
}
// #endregion
