import { commandsSeenByTests } from "./commands-seen-by-tests.js";
import { costs } from "./costs.js";
import { seenByCountTests } from "./count-tests.js";
import { seenByFairTests } from "./fair-tests.js";
import { handOverSeenByTests } from "./hand-over-seen-by-tests.js";
import { holds } from "./holds.js";
import { holdsSeenByTests } from "./holds-seen-by-tests.js";
import { linesSeenByTests } from "./lines-seen-by-tests.js";
import { seenByLockTests } from "./lock-tests.js";
import { moments } from "./moments.js";
import { ofCounts } from "./of-counts.js";
import { ofLocks } from "./of-locks.js";
import { otherWorlds } from "./other-worlds.js";
import { same } from "./same.js";
import { inScripts } from "./scripts.js";
import { seenByTests } from "./seen-by-tests.js";
import { seenInCounts } from "./seen-in-counts.js";
import { seenInJointLocks } from "./seen-in-joint-locks.js";
import { seenInLocks } from "./seen-in-locks.js";
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
  ...ofCounts,
  ...ofLocks,
  ...otherWorlds,
  ...same,
  ...inScripts,
  ...seenByTests,
  ...seenByCountTests,
  ...seenByFairTests,
  ...seenByLockTests,
  ...seenInCounts,
  ...seenInJointLocks,
  ...seenInLocks,
  ...sending,
  ...told,
  ...commandsSeenByTests,
  ...holdsSeenByTests,
  ...handOverSeenByTests,
  ...linesSeenByTests,
  ...trustSeenByTests,
  ...turnsSeenByTests,
];
