import { costs } from "./costs.js";
import { seenByCountTests } from "./count-tests.js";
import { seenByFairTests } from "./fair-tests.js";
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
import type { Survivor } from "./survivor.js";
import { told } from "./told.js";

/** All that is said to survive. */
export const survivors: readonly Survivor[] = [
  ...costs,
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
  ...told,
];
