/** Plays for the one who has forked it. A process of its own, as a variant may hang or crash. */
import type { PlayOrder, PlayReport } from "./finding.js";
import { play } from "./play.js";

async function tell(report: PlayReport): Promise<void> {
  const goesOn = report.what === "found" ? toGoOn() : undefined;
  await new Promise<void>((resolve) => process.send?.(report, () => resolve()));
  await goesOn;
}

/** Resolves when the one who watches says that what was found is not to count. */
function toGoOn(): Promise<void> {
  return new Promise((resolve) => process.once("message", () => resolve()));
}

process.once("message", (order: PlayOrder) => {
  void play(order, tell)
    .then(tell)
    .then(() => process.exit(0));
});
