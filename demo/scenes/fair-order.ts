import type { Job } from "../stage/job.js";
import type { Stage } from "../stage/stage.js";
import type { WorkerName } from "../stage/worker.js";
import { drawChart } from "../terminal/chart.js";
import { LiveLog } from "../terminal/live-log.js";
import { span } from "../terminal/units.js";
import type { Scene } from "./scene.js";
import { handOverGapsMs, type Stay, staysOf, waitsOf } from "./stays.js";
import { VisitLog } from "./visit-log.js";

const LOCK = "counter";
const STAY_MS = 300;
const LATE_COMERS: readonly WorkerName[] = ["C", "B", "D"];

/** Who asks first enters first, in whichever process it is. */
export const fairOrder: Scene = {
  name: "fair",
  title: "First come, first served",
  intro:
    "While A is inside, C, B and D ask for a fair lock, one after the other: each stands in the lock's queue in " +
    "Redis. Whoever leaves gives the lock to the next, who is in when the message arrives.",
  code: [
    'const lock = holdfast.getFairLock("counter");',
    "await lock.using(serve);",
    'const { queue } = await holdfast.inspect("counter");',
  ].join("\n"),

  async play(stage, screen) {
    const log = new LiveLog(screen);
    const { stays, queued } = await playQueue(stage, log);
    log.close();
    drawChart(
      screen,
      (["A", ...LATE_COMERS] as const).map((label) => {
        const own = stays.filter(({ who }) => who === label);
        return { label, inside: own, waiting: waitsOf(own) };
      }),
    );
    const entered = [...stays].sort((a, b) => a.fromMs - b.fromMs).map(({ who }) => who);
    const wanted = ["A", ...LATE_COMERS];
    const gapsMs = handOverGapsMs(stays);
    const slowestMs = Math.max(...gapsMs);
    return {
      checks: [
        {
          says: `they entered in the order in which they asked: ${entered.join(", ")}`,
          holds: entered.join() === wanted.join(),
        },
        { says: `inspect saw ${queued} in the queue`, holds: queued === LATE_COMERS.length },
        {
          says: `${gapsMs.length} hand-overs, the slowest in ${span(slowestMs)}`,
          holds: gapsMs.length === LATE_COMERS.length,
        },
      ],
      measured: `entered as they asked: ${entered.join(", ")}; hand-overs ≤ ${span(slowestMs)}`,
    };
  },
};

interface Queue {
  readonly stays: readonly Stay[];
  /** How many stood in the queue at its longest. */
  readonly queued: number;
}

async function playQueue(stage: Stage, log: LiveLog): Promise<Queue> {
  const visits = new VisitLog(log);
  const send = (name: WorkerName, stayMs: number | "until told"): Job<boolean> =>
    stage
      .worker(name)
      .start(
        "visit",
        { lock: LOCK, kind: "fair", times: 1, stayMs, pauseMs: 0 },
        { onReport: visits.listenerFor(name) },
      );
  const first = send("A", "until told");
  await first.next("entered");
  const jobs: (readonly [WorkerName, Job<boolean>])[] = [["A", first]];
  for (const name of LATE_COMERS) {
    const job = send(name, STAY_MS);
    await job.next("asking");
    await inQueue(stage, jobs.length);
    jobs.push([name, job]);
  }
  const { queue } = await stage.observer.inspect(LOCK);
  log.add("", `inspect(): ${queue.length} in the queue`);
  first.goOn();
  await Promise.all(jobs.map(([, job]) => job.result));
  return { stays: jobs.flatMap(([name, job]) => staysOf(name, job)), queued: queue.length };
}

async function inQueue(stage: Stage, length: number): Promise<void> {
  let queue: readonly string[];
  do {
    ({ queue } = await stage.observer.inspect(LOCK));
  } while (queue.length < length);
}
