// @ts-check
// #region coordinator
import { cronCoordinator } from "holdfast/recipes";
import cron from "node-cron";

/**
 * @param {import("holdfast").Holdfast} holdfast
 * @param {string} schedule
 * @param {() => unknown} report
 */
export function nightly(holdfast, schedule, report) {
  cron.setRunCoordinator(cronCoordinator(holdfast, { overlap: false }));
  // The name identifies the task across processes: without one node-cron makes up another in each of them.
  return cron.schedule(schedule, () => report(), { name: "nightly", distributed: true });
}
// #endregion
