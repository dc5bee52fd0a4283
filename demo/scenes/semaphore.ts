import type { Stage } from "../stage/stage.js";
import { workerNames } from "../stage/worker.js";
import { drawChart, mostAtOnce } from "../terminal/chart.js";
import { LiveLog } from "../terminal/live-log.js";
import type { Scene } from "./scene.js";
import { type Stay, staysOf, waitsOf } from "./stays.js";
import { VisitLog } from "./visit-log.js";

const SEMAPHORE = "downloads";
const PERMITS = 2;
const TIMES = 2;
const STAY_MS = 450;
/** Longer than the way to the server and back. */
const WAIT_MS = 100;

/** At most so many at once, instead of one. */
export const semaphore: Scene = {
  name: "semaphore",
  title: "At most two at once",
  intro:
    `Four workers want to download ${TIMES} files each, and a semaphore has ${PERMITS} permits. Each permit has a lease ` +
    "that the watchdog renews, so a permit of a process that dies returns by itself.",
  code: [
    'const slots = holdfast.getPermitExpirableSemaphore("downloads");',
    "await slots.trySetPermits(2); // once, for all processes",
    "await slots.using({ watchdog: true }, download);",
  ].join("\n"),

  async play(stage, screen) {
    const slots = stage.observer.getPermitExpirableSemaphore(SEMAPHORE);
    stage.alsoTidy(SEMAPHORE, stage.observer.clientId);
    await slots.trySetPermits(PERMITS);
    const log = new LiveLog(screen);
    const stays = await playDownloads(stage, log);
    log.close();
    drawChart(
      screen,
      workerNames.map((label) => {
        const own = stays.filter(({ who }) => who === label);
        return { label, inside: own, waiting: waitsOf(own) };
      }),
      "with a permit",
    );
    const most = mostAtOnce(stays);
    const waited = stays.filter(({ askedMs, fromMs }) => fromMs - askedMs > WAIT_MS).length;
    const left = await slots.availablePermits();
    return {
      checks: [
        {
          says: `${stays.length} downloads, ${most} at the same time and never more`,
          holds: most === PERMITS && stays.length === TIMES * workerNames.length,
        },
        { says: `${waited} of them waited for a permit`, holds: waited > 0 },
        { says: `all permits are back: ${left} of ${PERMITS}`, holds: left === PERMITS },
      ],
      measured: `${stays.length} downloads, at most ${most} at once`,
    };
  },
};

async function playDownloads(stage: Stage, log: LiveLog): Promise<readonly Stay[]> {
  const visits = new VisitLog(log, "a permit");
  const jobs = workerNames.map((name) => {
    const hear = visits.listenerFor(name);
    const input = { semaphore: SEMAPHORE, times: TIMES, stayMs: STAY_MS } as const;
    const job = stage.worker(name).start("download", input, {
      onReport: (report) => {
        if (report.what === "client") stage.alsoTidy(SEMAPHORE, report.id);
        hear(report);
      },
    });
    return [name, job] as const;
  });
  await Promise.all(jobs.map(([, job]) => job.result));
  return jobs.flatMap(([name, job]) => staysOf(name, job));
}
