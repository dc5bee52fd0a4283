// @ts-check
// #region cron
import { CronJob } from "cron";
import { runOnce } from "holdfast/recipes";

/**
 * @param {import("holdfast").Holdfast} holdfast
 * @param {string} schedule
 * @param {(fire: Date, signal: AbortSignal) => unknown} report
 * @param {number} gridMs a schedule of minutes has all of its fires at multiples of 60_000
 */
export function nightly(holdfast, schedule, report, gridMs = 60_000) {
  const onTick = async () => {
    // lastDate() tells when this process came to the fire: at the time that was due or late, never early.
    const fire = new Date(Math.floor(Date.now() / gridMs) * gridMs);
    await runOnce(holdfast, { name: "nightly", fireTime: fire }, ({ signal }) => report(fire, signal));
  };
  return CronJob.from({ cronTime: schedule, onTick, start: true });
}
// #endregion
