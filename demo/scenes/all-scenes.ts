import { cutOff } from "./cut-off.js";
import { fairOrder } from "./fair-order.js";
import { fixedLease } from "./fixed-lease.js";
import { frozen } from "./frozen.js";
import { handOvers } from "./hand-overs.js";
import { killed } from "./killed.js";
import { lateWriter } from "./late-writer.js";
import { reEntry } from "./re-entry.js";
import { readersAndWriter } from "./readers-and-writer.js";
import type { Scene } from "./scene.js";
import { semaphore } from "./semaphore.js";
import { siblings } from "./siblings.js";
import { stockCounter } from "./stock-counter.js";
import { watchdog } from "./watchdog.js";

/** In the order in which a newcomer needs them. */
export const allScenes: readonly Scene[] = [
  killed,
  stockCounter,
  handOvers,
  watchdog,
  cutOff,
  fixedLease,
  reEntry,
  siblings,
  fairOrder,
  readersAndWriter,
  semaphore,
  lateWriter,
  frozen,
];
