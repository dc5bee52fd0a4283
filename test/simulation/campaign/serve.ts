import { recordedChooser } from "../chooser/recorded.js";
import { seededChooser } from "../chooser/seeded.js";
import type { Outcome, Stats } from "../outcome.js";
import type { runSchedule } from "../schedule.js";
import { real } from "../world/trap.js";
import { type Failure, gist, packageVersion } from "./failure.js";
import type { Memory, Order, Report } from "./messages.js";
import { shrink } from "./shrink.js";

type RunSchedule = typeof runSchedule;

/** Each look collects garbage, and with it code that V8 has compiled. */
const MEMORY_EVERY_MS = 30_000;
const NO_STATS: Stats = { commands: 0, kinds: [], faults: {}, states: [], longestWaitMs: 0, exceptions: {} };

/** Obeys the coordinator that has forked this process, until it lets go of it. */
export function serve(run: RunSchedule): void {
  const orders: Order[] = [];
  let isBusy = false;
  process.on("message", (order: Order) => {
    orders.push(order);
    if (!isBusy) void work();
  });
  // Ctrl-C reaches all processes of a terminal. The coordinator decides when this one ends.
  process.on("SIGINT", () => {});
  process.on("disconnect", () => process.exit());

  const work = async () => {
    isBusy = true;
    for (let order = orders.shift(); order !== undefined; order = orders.shift()) {
      if ("shrink" in order) await shrinkFailure(run, order.shrink, order.seconds);
      else await play(run, order.seeds, order.only);
    }
    isBusy = false;
  };
}

let memoryAtMs = 0;

async function play(
  run: RunSchedule,
  [first, count]: readonly [number, number],
  only: readonly string[] | undefined,
): Promise<void> {
  for (let seed = first; seed < first + count; seed += 1) {
    tell(await played(run, seed, only));
    if (real.now() >= memoryAtMs) {
      memoryAtMs = real.now() + MEMORY_EVERY_MS;
      tell({ memory: memory() });
    }
    // Lets the coordinator's orders in.
    await new Promise((resolve) => real.setImmediate(resolve));
  }
}

async function played(run: RunSchedule, seed: number, only: readonly string[] | undefined): Promise<Report> {
  const chooser = seededChooser(seed);
  const { violations, digest, stats } = await outcomeOf(run, {
    chooser,
    ...(only === undefined ? {} : { only }),
  });
  const [first] = violations;
  if (first === undefined) return { finished: seed, digest, stats };
  const failure: Failure = {
    rule: first.rule,
    text: first.text,
    seed,
    release: packageVersion(),
    ...(only === undefined ? {} : { only }),
    choices: chooser.made,
  };
  return { finished: seed, digest, stats, failure };
}

/** An error of the simulator is a violation as any other: the schedule did not show that all promises were kept. */
export async function outcomeOf(run: RunSchedule, options: Parameters<RunSchedule>[0]): Promise<Outcome> {
  try {
    return await run(options);
  } catch (error) {
    const text = `the simulator failed: ${error instanceof Error ? error.stack : String(error)}`;
    return { violations: [{ rule: "world", text, atUs: 0 }], digest: "", history: [], stats: NO_STATS };
  }
}

async function shrinkFailure(run: RunSchedule, failure: Failure, seconds: number): Promise<void> {
  const endMs = real.now() + seconds * 1_000;
  let tries = 0;
  const only = failure.only === undefined ? {} : { only: failure.only };
  let text = failure.text;
  const smaller = await shrink(
    failure.choices,
    async (choices) => {
      tell({ shrinking: failure.seed });
      tries += 1;
      await new Promise((resolve) => real.setImmediate(resolve));
      const { violations } = await outcomeOf(run, { chooser: recordedChooser(choices), ...only });
      const same = violations.find((violation) => gist(violation) === gist(failure));
      if (same !== undefined) text = same.text;
      return same !== undefined;
    },
    { isOver: () => real.now() >= endMs },
  );
  if (smaller === undefined) {
    text = `${failure.text}\n(not broken again by the same choices: something else decides, too)`;
  }
  tell({ shrunk: { ...failure, text, choices: smaller?.choices ?? failure.choices }, tries });
}

function memory(): Memory {
  globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  return { heapBytes: heapUsed, residentBytes: rss, resources: process.getActiveResourcesInfo().length };
}

function tell(report: Report): void {
  process.send?.(report);
}
