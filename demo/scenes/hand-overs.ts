import { setTimeout as sleep } from "node:timers/promises";
import type { LockState } from "holdfast";
import type { Job } from "../stage/job.js";
import type { Stage } from "../stage/stage.js";
import { type ClientTuning, type WorkerName, workerNames } from "../stage/worker.js";
import { drawChart, mostAtOnce } from "../terminal/chart.js";
import { LiveLog } from "../terminal/live-log.js";
import { seconds, span } from "../terminal/units.js";
import type { Scene } from "./scene.js";
import { handOverGapsMs, type Stay, staysOf, waitsOf } from "./stays.js";
import { VisitLog } from "./visit-log.js";

const LOCK = "printer";
const STAY_MS = 400;
const PAUSE_MS = 150;
/** For the others to ask for the lock and to find it held. */
const QUEUE_UP_MS = 300;
/** With this no timer of a waiter rings before the TTL is over that it saw; what lets it in earlier is a message. */
const tuning: ClientTuning = { safetyPeriodMs: 60_000 };
/** The TTL is 30 s and is renewed before it falls below two thirds of that. */
const SOONEST_TIMER_MS = 20_000;

/** Who holds, who waits, and how the lock goes from one to the next. */
export const handOvers: Scene = {
  name: "hand-overs",
  title: "Who holds, who waits",
  intro:
    "Four workers want one lock. The one who leaves publishes a message, which wakes the waiters at once: nobody " +
    "asks again and again. A plain lock keeps no order: whoever of the woken asks first enters.",
  code: [
    'const lock = holdfast.getLock("printer");',
    "await lock.using({ waitMs: 20_000 }, print);",
    'const { holders, ttlMs } = await holdfast.inspect("printer");',
  ].join("\n"),

  async play(stage, screen) {
    const log = new LiveLog(screen);
    const { stays, seen, leader } = await playVisits(stage, log);
    log.close();
    drawChart(
      screen,
      workerNames.map((label) => {
        const own = stays.filter(({ who }) => who === label);
        return { label, inside: own, waiting: waitsOf(own) };
      }),
    );
    const gapsMs = handOverGapsMs(stays);
    const most = mostAtOnce(stays);
    const slowestMs = Math.max(...gapsMs);
    return {
      checks: [
        {
          says: `${stays.length} visits, and never more than ${most} inside at the same time`,
          holds: most === 1,
        },
        {
          says: `${gapsMs.length} hand-overs to somebody who waited, by message: the slowest took ${span(slowestMs)}, long before the TTL of 30 s`,
          holds: gapsMs.length > 0 && slowestMs < SOONEST_TIMER_MS,
        },
        {
          says: "inspect named A, who was inside, as the holder",
          holds: seen.holders[0] === leader,
        },
      ],
      measured: `${stays.length} visits, at most ${most} inside; hand-overs ≤ ${span(slowestMs)}`,
    };
  },
};

interface Visits {
  readonly stays: readonly Stay[];
  readonly seen: LockState;
  /** The holder field of the first who entered. */
  readonly leader: string;
}

async function playVisits(stage: Stage, log: LiveLog): Promise<Visits> {
  const visits = new VisitLog(log);
  const send = (name: WorkerName, times: number, stayMs: number | "until told"): Job<boolean> => {
    const onReport = visits.listenerFor(name);
    return stage
      .worker(name)
      .start("visit", { lock: LOCK, times, stayMs, pauseMs: PAUSE_MS }, { tuning, onReport });
  };
  const first = send("A", 1, "until told");
  const { holder } = await first.next("entered");
  const others = (["B", "C", "D"] as const).map((name) => [name, send(name, 2, STAY_MS)] as const);
  await Promise.all(others.map(([, job]) => job.next("asking")));
  await sleep(QUEUE_UP_MS);
  const seen = await stage.observer.inspect(LOCK);
  log.add("", `inspect(): ${describe(seen)}`);
  first.goOn();
  await first.result;
  const again = send("A", 1, STAY_MS);
  const jobs = [["A", first] as const, ["A", again] as const, ...others];
  await Promise.all(jobs.map(([, job]) => job.result));
  return { stays: jobs.flatMap(([name, job]) => staysOf(name, job)), seen, leader: holder };
}

function describe({ holders, holdCounts, ttlMs }: LockState): string {
  const [holder = "nobody"] = holders;
  const inShort = holder.replace(/^([^-]+)-.*:/, "$1…:");
  return `held by ${inShort}, hold count ${holdCounts[holder] ?? 0}, TTL ${seconds(ttlMs)}`;
}
