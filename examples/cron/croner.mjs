// @ts-check
// #region croner
import { Cron } from "croner";
import { runOnce } from "holdfast/recipes";

/**
 * @param {import("holdfast").Holdfast} holdfast
 * @param {string} schedule
 * @param {(fire: Date, signal: AbortSignal) => unknown} report
 */
export function nightly(holdfast, schedule, report) {
  // Without `catch` a failed run (Redis is away, for example) ends the process with an unhandled rejection.
  return new Cron(schedule, { catch: (error) => console.error(error) }, async (job) => {
    // currentRun() is when this callback was called, which may be late. The schedule knows when it was due.
    const [fire] = job.previousRuns(1, new Date(Date.now() + 1));
    if (fire === undefined) return;
    await runOnce(holdfast, { name: "nightly", fireTime: fire }, ({ signal }) => report(fire, signal));
  });
}
// #endregion
