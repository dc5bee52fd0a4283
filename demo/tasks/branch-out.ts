import { setTimeout as sleep } from "node:timers/promises";
import type { LockName } from "../names.js";
import { entered } from "./entered.js";
import { PATIENCE_MS, type Task } from "./task.js";

export interface BranchOutInput {
  readonly lock: LockName;
  readonly branches: number;
  readonly stayMs: number;
}

/** Enters a lock, waits to be told, and starts several branches at once that all want the same lock again. */
export const branchOut: Task<BranchOutInput, null> = async (workplace, { lock: name, branches, stayMs }) => {
  const lock = workplace.holdfast.getLock(name);
  const branchOff = async (branch: number) => {
    workplace.note({ what: "branch-asking", branch });
    await lock.using({ waitMs: PATIENCE_MS }, async () => {
      workplace.note({ what: "branch-entered", branch });
      await sleep(stayMs);
      workplace.note({ what: "branch-leaving", branch });
    });
  };
  await lock.using({ waitMs: PATIENCE_MS }, async (lease) => {
    workplace.note(entered(lease));
    await workplace.told();
    await Promise.all(Array.from({ length: branches }, (_, index) => branchOff(index + 1)));
    workplace.note({ what: "leaving" });
  });
  return null;
};
