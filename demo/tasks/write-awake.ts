import { LeaseLostError } from "holdfast";
import type { LockName } from "../names.js";
import { entered } from "./entered.js";
import { PATIENCE_MS, type Task } from "./task.js";

export interface WriteAwakeInput {
  readonly lock: LockName;
  readonly left: number;
}

/**
 * Takes a fenced lock and waits to be told. Then it asks its lease, notes what that says, and writes in any case, so that the store shows what
 * it does with the token. @returns whether the lease was held by then
 */
export const writeAwake: Task<WriteAwakeInput, boolean> = async (
  { holdfast, stock, note, told },
  { lock, left },
) => {
  note({ what: "asking" });
  const lease = await holdfast.getFencedLock(lock).lock({ waitMs: PATIENCE_MS });
  note(entered(lease));
  note({ what: "token", token: Number(lease.token) });
  await told();
  let isHeld = true;
  try {
    lease.assertHeld();
  } catch (error) {
    if (!(error instanceof LeaseLostError)) throw error;
    const { code, reason, message } = error;
    note({ what: "lost", code, reason, message });
    isHeld = false;
  }
  note({ what: "write", left, accepted: await stock.writeFenced(left, lease.token) });
  if (isHeld) await lease.unlock();
  return isHeld;
};
