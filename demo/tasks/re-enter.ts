import type { Lock } from "holdfast";
import type { LockName } from "../names.js";
import { entered } from "./entered.js";
import { PATIENCE_MS, type Task, type Workplace } from "./task.js";

export interface ReEnterInput {
  readonly lock: LockName;
}

/** Enters a lock and, inside, calls something that enters it as well. Waits to be told before each further step. */
export const reEnter: Task<ReEnterInput, null> = async (workplace, { lock: name }) => {
  const lock = workplace.holdfast.getLock(name);
  await lock.using({ waitMs: PATIENCE_MS }, async (lease) => {
    workplace.note(entered(lease));
    await workplace.told();
    await deposit(workplace, lock);
    workplace.note({ what: "leaving" });
    await workplace.told();
  });
  return null;
};

/** Locks for itself: it need not know whether its caller has done so already. */
async function deposit(workplace: Workplace, lock: Lock): Promise<void> {
  await lock.using({ waitMs: PATIENCE_MS }, async (lease) => {
    workplace.note(entered(lease));
    await workplace.told();
  });
}
