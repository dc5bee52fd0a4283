import type { Family, Shared } from "./family.js";
import { jobsAndLocks } from "./fire-steps.js";
import { latches } from "./latch-steps.js";
import { permitSemaphores } from "./permit-steps.js";
import { semaphores } from "./semaphore-steps.js";

const FAMILIES: readonly Family[] = [jobsAndLocks, semaphores, permitSemaphores, latches];

/** All kinds that a task may be about. */
export const KINDS: readonly string[] = FAMILIES.flatMap(({ kinds }) => kinds);

export function familyOf({ kind }: Shared): Family {
  const family = FAMILIES.find(({ kinds }) => kinds.includes(kind));
  if (family === undefined) throw new RangeError(`there is no kind "${kind}"`);
  return family;
}
