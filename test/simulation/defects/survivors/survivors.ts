import { costs } from "./costs.js";
import { inCounts } from "./counts.js";
import { inHolds } from "./holds.js";
import { inLocks } from "./locks.js";
import { moments } from "./moments.js";
import { otherWorlds } from "./other-worlds.js";
import { same } from "./same.js";
import { inScripts } from "./scripts.js";
import { seenInCommands } from "./seen-by-tests/commands.js";
import { seenInCountScripts } from "./seen-by-tests/count-scripts.js";
import { seenInCounts } from "./seen-by-tests/counts.js";
import { seenInFairScripts } from "./seen-by-tests/fair-scripts.js";
import { seenInHolds } from "./seen-by-tests/holds.js";
import { seenInJointLocks } from "./seen-by-tests/joint-locks.js";
import { seenInLines } from "./seen-by-tests/lines.js";
import { seenInLockScripts } from "./seen-by-tests/lock-scripts.js";
import { seenInLocks } from "./seen-by-tests/locks.js";
import { seenInReconciler } from "./seen-by-tests/reconciler.js";
import { seenInTrust } from "./seen-by-tests/trust.js";
import { seenInTurns } from "./seen-by-tests/turns.js";
import { inSending } from "./sending.js";
import type { Survivor } from "./survivor.js";
import { told } from "./told.js";

/** All that is said to survive. */
export const survivors: readonly Survivor[] = [
  ...costs,
  ...inCounts,
  ...inHolds,
  ...inLocks,
  ...inScripts,
  ...inSending,
  ...moments,
  ...otherWorlds,
  ...same,
  ...told,
  ...seenInCommands,
  ...seenInCountScripts,
  ...seenInCounts,
  ...seenInFairScripts,
  ...seenInHolds,
  ...seenInJointLocks,
  ...seenInLines,
  ...seenInLockScripts,
  ...seenInLocks,
  ...seenInReconciler,
  ...seenInTrust,
  ...seenInTurns,
];
