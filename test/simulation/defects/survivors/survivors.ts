import { costs } from "./costs.js";
import { moments } from "./moments.js";
import { ofLocks } from "./of-locks.js";
import { otherWorlds } from "./other-worlds.js";
import { same } from "./same.js";
import { seenByTests } from "./seen-by-tests.js";
import type { Survivor } from "./survivor.js";
import { told } from "./told.js";

/** All that is said to survive. */
export const survivors: readonly Survivor[] = [
  ...costs,
  ...moments,
  ...ofLocks,
  ...otherWorlds,
  ...same,
  ...seenByTests,
  ...told,
];
