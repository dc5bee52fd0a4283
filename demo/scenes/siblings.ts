import { setTimeout as sleep } from "node:timers/promises";
import type { Job } from "../stage/job.js";
import type { Stage } from "../stage/stage.js";
import type { Report } from "../tasks/task.js";
import { type ChartRow, drawChart, mostAtOnce, type Stretch } from "../terminal/chart.js";
import { LiveLog } from "../terminal/live-log.js";
import type { Scene } from "./scene.js";
import { staysOf, waitsOf } from "./stays.js";
import { VisitLog } from "./visit-log.js";

const LOCK = "album";
const BRANCHES = 3;
const STAY_MS = 400;
/** For B to ask for the lock and to find it held. */
const QUEUE_UP_MS = 200;

/** Branches that run at the same time inside a lock do not share it: they take turns. */
export const siblings: Scene = {
  name: "siblings",
  title: "Siblings of a Promise.all",
  intro:
    `Inside the lock A starts ${BRANCHES} branches at once, and each takes the lock again. Branches are siblings, not ` +
    "nested calls: they enter one after the other. B, a stranger, waits until A has left altogether.",
  code: [
    "await lock.using(async () => {",
    "  const branch = (photo) => lock.using(() => add(photo));",
    "  await Promise.all(photos.map(branch)); // one at a time",
    "});",
  ].join("\n"),

  async play(stage, screen) {
    const log = new LiveLog(screen);
    const { family, stranger } = await playBranches(stage, log);
    log.close();
    const [outer] = staysOf("A", family);
    const [visit] = staysOf("B", stranger);
    const branches = branchesOf(family);
    const rows: ChartRow[] = branches.map(({ waiting, inside }, index) => ({
      label: `A, branch ${index + 1}`,
      waiting: [waiting],
      inside: [inside],
    }));
    if (visit !== undefined) rows.push({ label: "B", waiting: waitsOf([visit]), inside: [visit] });
    drawChart(screen, rows);
    const stays = branches.map(({ inside }) => inside);
    const most = mostAtOnce(stays);
    const startedTogether = branches.every(
      ({ waiting }) => waiting.fromMs <= Math.min(...stays.map(({ toMs }) => toMs)),
    );
    const strangerWaited = visit !== undefined && outer !== undefined && visit.fromMs >= outer.toMs;
    return {
      checks: [
        {
          says: `${stays.length} branches, all begun before the first had ended: at most ${most} inside`,
          holds: stays.length === BRANCHES && startedTogether && most === 1,
        },
        {
          says: "B, who asked before they began, entered after all of them",
          holds: strangerWaited && visit.askedMs < Math.min(...stays.map(({ fromMs }) => fromMs)),
        },
      ],
      measured: `${stays.length} branches, at most ${most} inside; stranger ${strangerWaited ? "last" : "too early"}`,
    };
  },
};

interface Played {
  readonly family: Job<null>;
  readonly stranger: Job<boolean>;
}

async function playBranches(stage: Stage, log: LiveLog): Promise<Played> {
  const visits = new VisitLog(log);
  const hear = visits.listenerFor("A");
  const family = stage.worker("A").start(
    "branchOut",
    { lock: LOCK, branches: BRANCHES, stayMs: STAY_MS },
    {
      onReport: (report) => {
        hear(report);
        tellBranch(log, report);
      },
    },
  );
  await family.next("entered");
  const stranger = stage
    .worker("B")
    .start(
      "visit",
      { lock: LOCK, times: 1, stayMs: STAY_MS, pauseMs: 0 },
      { onReport: visits.listenerFor("B") },
    );
  await stranger.next("asking");
  await sleep(QUEUE_UP_MS);
  family.goOn();
  await Promise.all([family.result, stranger.result]);
  return { family, stranger };
}

function tellBranch(log: LiveLog, report: Report): void {
  if (report.what === "branch-asking") log.add("A", `branch ${report.branch} asks`, report.atMs);
  if (report.what === "branch-entered") log.add("A", `branch ${report.branch} enters`, report.atMs);
  if (report.what === "branch-leaving") log.add("A", `branch ${report.branch} leaves`, report.atMs);
}

interface BranchStay {
  readonly waiting: Stretch;
  readonly inside: Stretch;
}

function branchesOf(family: Job<null>): BranchStay[] {
  const timeOf = (what: "branch-asking" | "branch-entered" | "branch-leaving", branch: number) =>
    family.all(what).find((report) => report.branch === branch)?.atMs ?? Number.NaN;
  return Array.from({ length: BRANCHES }, (_, index) => {
    const [askedMs, fromMs, toMs] = [
      timeOf("branch-asking", index + 1),
      timeOf("branch-entered", index + 1),
      timeOf("branch-leaving", index + 1),
    ];
    return { waiting: { fromMs: askedMs, toMs: fromMs }, inside: { fromMs, toMs } };
  });
}
