/**
 * Plays some seeds, each twice: from the seed and from its list of choices. Prints the digests of both histories, to be compared
 * with those of another process.
 */
import "../world/trap.js";

import type { Chooser } from "../chooser/chooser.js";
import { recordedChooser } from "../chooser/recorded.js";
import { seededChooser } from "../chooser/seeded.js";
import { runSchedule } from "../schedule.js";

const [first = Number.NaN, count = Number.NaN] = process.argv.slice(2).map(Number);
if (!Number.isSafeInteger(first) || !Number.isSafeInteger(count)) {
  throw new RangeError("digests.js needs the first seed, and how many");
}
for (let seed = first; seed < first + count; seed += 1) {
  const seeded = seededChooser(seed);
  const digests = [await digestOf(seeded), await digestOf(recordedChooser(seeded.made))];
  process.stdout.write(`${seed} ${digests.join(" ")}\n`);
}

async function digestOf(chooser: Chooser): Promise<string> {
  return (await runSchedule({ chooser })).digest;
}
