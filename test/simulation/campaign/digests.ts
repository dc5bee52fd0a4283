/**
 * Plays some seeds, each twice: from the seed with compiled scripts, and from its list of choices with fengari. Prints the digests of
 * both histories, to be compared with those of another process, of the same release of Node or of another.
 */
import "../world/trap.js";

import { SharedInterpreter } from "../../../src/memory/memory-store.js";
import type { Chooser } from "../chooser/chooser.js";
import { recordedChooser } from "../chooser/recorded.js";
import { seededChooser } from "../chooser/seeded.js";
import { runSchedule } from "../schedule.js";
import { replaceInterpreter } from "../world/sim-server.js";

const [first = Number.NaN, count = Number.NaN] = process.argv.slice(2, 4).map(Number);
if (!Number.isSafeInteger(first) || !Number.isSafeInteger(count)) {
  throw new RangeError("digests.js needs the first seed, and how many");
}
const fengari = new SharedInterpreter();
for (let seed = first; seed < first + count; seed += 1) {
  const seeded = seededChooser(seed);
  const outcome = await runSchedule({ chooser: seeded });
  const digests = [outcome.digest, await digestOf(recordedChooser(seeded.made))];
  process.stdout.write(`${seed} ${digests.join(" ")}\n`);
}

async function digestOf(chooser: Chooser): Promise<string> {
  const restore = replaceInterpreter(fengari);
  try {
    return (await runSchedule({ chooser })).digest;
  } finally {
    restore();
  }
}
