// @ts-check
// #region cron
import { CronJob } from "cron";
import { runOnce } from "holdfast/recipes";

/**
 * @param {import("holdfast").Holdfast} holdfast
 * @param {string} schedule
 * @param {(signal: AbortSignal) => unknown} report
 * @param {number} gridMs fires are at multiples of it: 60_000 for a schedule of minutes, 2_000 for one of every two seconds
 */
export function nightly(holdfast, schedule, report, gridMs) {
  const onTick = async () => {
    // cron does not tell for when it calls, and may call late: gridMs rounds the time down to that of the fire.
    const fire = { name: "nightly", fireTime: new Date(), gridMs };
    await runOnce(holdfast, fire, ({ signal }) => report(signal));
  };
  return CronJob.from({ cronTime: schedule, onTick, start: true });
}
// #endregion
