// @ts-check
// #region coordinator
import { cronCoordinator } from "holdfast/recipes";
import cron from "node-cron";

/**
 * @param {import("holdfast").Holdfast} holdfast
 * @param {string} schedule
 * @param {(fire: Date) => unknown} report
 */
export function nightly(holdfast, schedule, report) {
  cron.setRunCoordinator(cronCoordinator(holdfast, { overlap: false }));
  // All processes have to call the task by the same name: node-cron makes one up where none is given.
  return cron.schedule(schedule, ({ date }) => report(date), { name: "nightly", distributed: true });
}
// #endregion
