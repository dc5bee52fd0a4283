import type { LockName } from "../names.js";
import type { Task } from "./task.js";

export interface LookInInput {
  readonly lock: LockName;
}

/** Tries a lock without waiting, and leaves at once. @returns whether it came in */
export const lookIn: Task<LookInInput, boolean> = async ({ holdfast }, { lock }) => {
  const lease = await holdfast.getLock(lock).tryLock();
  await lease?.unlock();
  return lease !== null;
};
