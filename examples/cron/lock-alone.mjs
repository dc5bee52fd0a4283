// @ts-check
import cron from "node-cron";

/**
 * What one thinks of first, and what is wrong: a process whose clock is a little late finds the lock free again, and runs the same fire.
 *
 * @param {import("holdfast").Holdfast} holdfast
 * @param {string} schedule
 * @param {(fire: Date) => unknown} report
 */
export function nightly(holdfast, schedule, report) {
  return cron.schedule(schedule, ({ date }) => holdfast.getLock("nightly").tryUsing(() => report(date)));
}
