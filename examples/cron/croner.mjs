// @ts-check
// #region croner
import { Cron } from "croner";
import { runOnce } from "holdfast/recipes";

/**
 * @param {import("holdfast").Holdfast} holdfast
 * @param {string} schedule
 * @param {(signal: AbortSignal) => unknown} report
 * @param {number} gridMs fires are at multiples of it: 60_000 for a schedule of minutes, 2_000 for one of every two seconds
 */
export function nightly(holdfast, schedule, report, gridMs) {
  // Without `catch` a failed run (Redis is away, for example) ends the process with an unhandled rejection.
  return new Cron(schedule, { catch: (error) => console.error(error) }, async () => {
    // croner does not tell for when it calls, and may call late: gridMs rounds the time down to that of the fire.
    const fire = { name: "nightly", fireTime: new Date(), gridMs };
    await runOnce(holdfast, fire, ({ signal }) => report(signal));
  });
}
// #endregion
