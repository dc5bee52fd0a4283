import type { Job } from "../stage/job.js";
import type { Stage } from "../stage/stage.js";
import type { WorkerName } from "../stage/worker.js";
import type { Kind } from "../tasks/kind.js";
import { drawChart, mostAtOnce, type Stretch } from "../terminal/chart.js";
import { LiveLog } from "../terminal/live-log.js";
import type { Scene } from "./scene.js";
import { type Stay, staysOf, waitsOf } from "./stays.js";
import { VisitLog } from "./visit-log.js";

const LOCK = "catalogue";
const READ_MS = 500;
const WRITE_MS = 400;
const PAUSE_MS = 200;
const READERS: readonly WorkerName[] = ["A", "B", "C"];
const WRITER: WorkerName = "D";

/** Readers together, the writer alone. */
export const readersAndWriter: Scene = {
  name: "readers-and-writer",
  title: "Many readers or one writer",
  intro:
    "A, B and C read, D writes. Readers are inside together; the writer is alone. Who reads may not ask to write as " +
    "well: two of that kind would wait for each other for ever, so the second lock is refused at once.",
  code: [
    'const { readLock, writeLock } = holdfast.getReadWriteLock("catalogue");',
    "await readLock().using(look);",
    "await writeLock().using(change);",
  ].join("\n"),

  async play(stage, screen) {
    const log = new LiveLog(screen);
    const stays = await playVisits(stage, log);
    const attempt = stage.worker("A").start("upgrade", { lock: LOCK });
    const upgraded = await attempt.result;
    const [refusal] = attempt.all("refused");
    log.add("A", `asks to write while it reads: ${refusal?.code ?? "granted"}`);
    log.close();
    drawChart(
      screen,
      [...READERS, WRITER].map((label) => {
        const own = stays.filter(({ who }) => who === label);
        return { label, inside: own, waiting: waitsOf(own) };
      }),
    );
    const reads = stays.filter(({ who }) => who !== WRITER);
    const writes = stays.filter(({ who }) => who === WRITER);
    const together = mostAtOnce(reads);
    const meetings = writes.flatMap((write) => reads.filter((read) => overlap(write, read)));
    return {
      checks: [
        { says: `up to ${together} readers were inside together`, holds: together >= 2 },
        {
          says: `${writes.length} writes, and a reader inside during ${meetings.length} of them`,
          holds: writes.length > 0 && meetings.length === 0,
        },
        {
          says: `writing while reading was refused: ${refusal?.code}`,
          holds: !upgraded && refusal?.code === "ERR_HOLDFAST_UPGRADE",
        },
      ],
      measured: `${together} readers together, the writer alone; upgrade: ${refusal?.code}`,
    };
  },
};

async function playVisits(stage: Stage, log: LiveLog): Promise<readonly Stay[]> {
  const visits = new VisitLog(log);
  const send = (name: WorkerName, kind: Kind, stayMs: number): readonly [WorkerName, Job<boolean>] => {
    const input = { lock: LOCK, kind, times: 2, stayMs, pauseMs: PAUSE_MS } as const;
    return [name, stage.worker(name).start("visit", input, { onReport: visits.listenerFor(name) })];
  };
  const readers = READERS.map((name) => send(name, "read", READ_MS));
  await Promise.all(readers.map(([, job]) => job.next("entered")));
  const jobs = [...readers, send(WRITER, "write", WRITE_MS)];
  await Promise.all(jobs.map(([, job]) => job.result));
  return jobs.flatMap(([name, job]) => staysOf(name, job));
}

function overlap(a: Stretch, b: Stretch): boolean {
  return a.fromMs < b.toMs && b.fromMs < a.toMs;
}
