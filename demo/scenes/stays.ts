import type { Job } from "../stage/job.js";
import type { WorkerName } from "../stage/worker.js";
import type { Stretch } from "../terminal/chart.js";

/** One visit of a worker to a lock: inside from `fromMs` to `toMs`. */
export interface Stay extends Stretch {
  readonly who: WorkerName;
  readonly askedMs: number;
}

/** The visits that a job reported. */
export function staysOf(who: WorkerName, job: Pick<Job<unknown>, "all">): Stay[] {
  const asked = job.all("asking");
  const left = job.all("leaving");
  return job.all("entered").map(({ atMs: fromMs }, index) => ({
    who,
    askedMs: asked[index]?.atMs ?? fromMs,
    fromMs,
    toMs: left[index]?.atMs ?? fromMs,
  }));
}

export function waitsOf(stays: readonly Stay[]): Stretch[] {
  return stays.map(({ askedMs, fromMs }) => ({ fromMs: askedMs, toMs: fromMs }));
}

/** How long the lock took from each holder to the next one, where that one was waiting by then. */
export function handOverGapsMs(stays: readonly Stay[]): number[] {
  const inOrder = [...stays].sort((a, b) => a.fromMs - b.fromMs);
  return inOrder.flatMap(({ askedMs, fromMs }, index) => {
    const before = inOrder[index - 1];
    return before === undefined || askedMs >= before.toMs ? [] : [fromMs - before.toMs];
  });
}
