// @ts-check
import cron from "node-cron";

/**
 * What one thinks of first, and what is wrong: a process whose clock is a little late finds the lock free again, and runs the same fire.
 *
 * @param {import("holdfast").Holdfast} holdfast
 * @param {string} schedule
 * @param {() => unknown} report
 */
export function nightly(holdfast, schedule, report) {
  return cron.schedule(schedule, () => holdfast.tryUsing("nightly", () => report()));
}
