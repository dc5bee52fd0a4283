import { costs } from "./costs.js";
import { holds } from "./holds.js";
import { moments } from "./moments.js";
import { otherWorlds } from "./other-worlds.js";
import { same } from "./same.js";
import { seenByTests } from "./seen-by-tests.js";
import { sending } from "./sending.js";
import type { Survivor } from "./survivor.js";
import { told } from "./told.js";

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
];
