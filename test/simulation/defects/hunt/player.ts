/**
 * Plays the schedules of the tree that it lies in, by seed from 1 on, until one breaks a promise or its time is over. A process of
 * its own, as a variant may hang or crash.
 */
import { seededChooser } from "../../chooser/seeded.js";
import { runSchedule } from "../../schedule.js";
import type { PlayOrder, PlayReport } from "./finding.js";

const TELLS_EACH_MS = 200;

// A schedule may put other clocks in the place of these.
const { hrtime } = process;

function realMs(): number {
  return Number(hrtime.bigint() / 1_000_000n);
}

function tell(report: PlayReport): Promise<void> {
  return new Promise((resolve) => process.send?.(report, () => resolve()));
}

async function play({ seconds, kinds }: PlayOrder): Promise<PlayReport> {
  const endMs = realMs() + 1_000 * seconds;
  let toldMs = 0;
  let schedules = 0;
  while (realMs() < endMs) {
    schedules += 1;
    const chooser = seededChooser(schedules);
    const { violations } = await runSchedule({ chooser, ...(kinds !== undefined && { only: kinds }) });
    const [first] = violations;
    if (first !== undefined) return { what: "found", schedules, rule: first.rule, text: first.text };
    if (realMs() >= toldMs + TELLS_EACH_MS) {
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
