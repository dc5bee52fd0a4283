import type { Defect } from "./defect.js";
import { answerDefects } from "./planted/answers.js";
import { blindSpotDefects } from "./planted/blind-spots.js";
import { countDefects } from "./planted/counts.js";
import { fairDefects } from "./planted/fair.js";
import { foundDefects } from "./planted/found.js";
import { handOffDefects } from "./planted/hand-off.js";
import { jointDefects } from "./planted/joint.js";
import { permitDefects } from "./planted/permits.js";
import { readWriteDefects } from "./planted/read-write.js";
import { recipeDefects } from "./planted/recipes.js";
import { releaseDefects } from "./planted/release.js";
import { renewalDefects } from "./planted/renewal.js";
import { serverDefects } from "./planted/servers.js";
import { trustDefects } from "./planted/trust.js";
import { waitingDefects } from "./planted/waiting.js";
import { waitingPermitDefects } from "./planted/waiting-permits.js";
import { waitingQueueDefects } from "./planted/waiting-queue.js";
import { waitingSpinDefects } from "./planted/waiting-spins.js";
import { waitingWriterDefects } from "./planted/waiting-writers.js";

/** Each breaks one promise, by an interleaving or a fault that the simulator has to come upon. */
export const defects: readonly Defect[] = [
  ...trustDefects,
  ...renewalDefects,
  ...releaseDefects,
  ...waitingDefects,
  ...fairDefects,
  ...readWriteDefects,
  ...handOffDefects,
  ...jointDefects,
  ...countDefects,
  ...permitDefects,
  ...serverDefects,
  ...answerDefects,
  ...foundDefects,
  ...blindSpotDefects,
  ...recipeDefects,
  ...waitingQueueDefects,
  ...waitingWriterDefects,
  ...waitingSpinDefects,
  ...waitingPermitDefects,
];
