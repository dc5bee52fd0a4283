import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError } from "holdfast";
import type { LockName } from "../names.js";
import { entered } from "./entered.js";
import { PATIENCE_MS, type Task } from "./task.js";

export interface WriteLateInput {
  readonly lock: LockName;
  readonly leaseMs: number;
  /** What it does before it writes, without a look at its lease. */
  readonly stallMs: number;
  readonly left: number;
}

/** Takes a fenced lock, stalls and then writes with its token, come what may. @returns whether the stock has taken it */
export const writeLate: Task<WriteLateInput, boolean> = async (
  { holdfast, stock, note },
  { lock, leaseMs, stallMs, left },
) => {
  note({ what: "asking" });
  const lease = await holdfast.getFencedLock(lock).lock({ leaseMs, waitMs: PATIENCE_MS });
  note(entered(lease));
  note({ what: "token", token: Number(lease.token) });
  await sleep(stallMs);
  const accepted = await stock.writeFenced(left, lease.token);
  note({ what: "write", left, accepted });
  try {
    await lease.unlock();
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    note({ what: "refused", code: error.code, message: error.message });
  }
  return accepted;
};
