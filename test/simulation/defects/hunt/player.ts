/**
 * Plays the schedules of the tree that it lies in, by seed, until one breaks a promise or its time is over. A process of its own, as a
 * variant may hang or crash.
 */
import { seededChooser } from "../../chooser/seeded.js";
import { runSchedule } from "../../schedule.js";
import type { PlayOrder, PlayReport } from "./finding.js";

const TELLS_EACH_MS = 200;

// While a schedule is played, no real clock may be read.
const { hrtime } = process;

function realMs(): number {
  return Number(hrtime.bigint() / 1_000_000n);
}

function tell(report: PlayReport): Promise<void> {
  return new Promise((resolve) => process.send?.(report, () => resolve()));
}

/** Resolves when the one who watches has heard of what was found and says that it is not to count. */
function toGoOn(): Promise<void> {
  return new Promise((resolve) => process.once("message", () => resolve()));
}

async function play({ firstSeed, schedules: most, seconds, kinds }: PlayOrder): Promise<PlayReport> {
  const endMs = realMs() + 1_000 * seconds;
  await tell({ what: "playing", schedules: 0 });
  let toldMs = 0;
  let schedules = 0;
  while (schedules < most && realMs() < endMs) {
    const seed = firstSeed + schedules;
    schedules += 1;
    const chooser = seededChooser(seed);
    const { violations } = await runSchedule({ chooser, ...(kinds !== undefined && { only: kinds }) });
    const [first] = violations;
    if (first !== undefined) {
      const goesOn = toGoOn();
      await tell({ what: "found", schedules, seed, rule: first.rule, text: first.text });
      await goesOn;
    } else if (realMs() >= toldMs + TELLS_EACH_MS) {
      toldMs = realMs();
      await tell({ what: "playing", schedules });
    }
  }
  return { what: "clean", schedules };
}

process.once("message", (order: PlayOrder) => {
  void play(order)
    .then(tell)
    .then(() => process.exit(0));
});
