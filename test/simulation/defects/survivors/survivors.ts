import { commandsSeenByTests } from "./commands-seen-by-tests.js";
import { costs } from "./costs.js";
import { handOverSeenByTests } from "./hand-over-seen-by-tests.js";
import { holds } from "./holds.js";
import { holdsSeenByTests } from "./holds-seen-by-tests.js";
import { linesSeenByTests } from "./lines-seen-by-tests.js";
import { moments } from "./moments.js";
import { otherWorlds } from "./other-worlds.js";
import { same } from "./same.js";
import { seenByTests } from "./seen-by-tests.js";
import { sending } from "./sending.js";
import type { Survivor } from "./survivor.js";
import { told } from "./told.js";
import { trustSeenByTests } from "./trust-seen-by-tests.js";
import { turnsSeenByTests } from "./turns-seen-by-tests.js";

/** All that is said to survive. */
export const survivors: readonly Survivor[] = [
  ...costs,
  ...holds,
  ...moments,
  ...otherWorlds,
  ...same,
  ...seenByTests,
  ...sending,
  ...told,
  ...commandsSeenByTests,
  ...holdsSeenByTests,
  ...handOverSeenByTests,
  ...linesSeenByTests,
  ...trustSeenByTests,
  ...turnsSeenByTests,
];
