import { HoldfastError } from "holdfast";
import type { LockName } from "../names.js";
import type { Task } from "./task.js";

export interface UpgradeInput {
  readonly lock: LockName;
}

/** Reads, and asks to write without giving up the read lock. @returns whether that was granted */
export const upgrade: Task<UpgradeInput, boolean> = async ({ holdfast, note }, { lock }) => {
  const pair = holdfast.getReadWriteLock(lock);
  try {
    await pair.readLock().using(() => pair.writeLock().using(() => undefined));
    return true;
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    note({ what: "refused", code: error.code, message: error.message });
    return false;
  }
};
