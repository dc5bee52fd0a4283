// @ts-check
// #region cron
import { CronJob } from "cron";
import { runOnce } from "holdfast/recipes";

/**
 * @param {import("holdfast").Holdfast} holdfast
 * @param {string} schedule
 * @param {(fire: Date, signal: AbortSignal) => unknown} report
 * @param {number} gridMs all fires are at multiples of it: those of a schedule of minutes at multiples of 60_000
 */
export function nightly(holdfast, schedule, report, gridMs = 60_000) {
  const onTick = async () => {
    // lastDate() is when this callback was called: on time or late, never early. Rounded down it is the fire.
    const fire = new Date(Math.floor(Date.now() / gridMs) * gridMs);
    await runOnce(holdfast, { name: "nightly", fireTime: fire }, ({ signal }) => report(fire, signal));
  };
  return CronJob.from({ cronTime: schedule, onTick, start: true });
}
// #endregion
