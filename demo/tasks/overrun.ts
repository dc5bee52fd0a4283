import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError, LeaseLostError } from "holdfast";
import type { LockName } from "../names.js";
import { entered } from "./entered.js";
import { PATIENCE_MS, type Task } from "./task.js";

export interface OverrunInput {
  readonly lock: LockName;
  readonly leaseMs: number;
  readonly steps: number;
  readonly stepMs: number;
}

/** Does work of many steps under a fixed lease, for as long as the lease lasts. @returns how many steps were done */
export const overrun: Task<OverrunInput, number> = async (
  { holdfast, note },
  { lock, leaseMs, steps, stepMs },
) => {
  note({ what: "asking" });
  const lease = await holdfast.getLock(lock).lock({ leaseMs, waitMs: PATIENCE_MS });
  note(entered(lease));
  let done = 0;
  try {
    while (done < steps) {
      await sleep(stepMs, undefined, { signal: lease.signal });
      done += 1;
      note({ what: "step", step: done });
    }
  } catch (error) {
    const loss: unknown = lease.signal.reason;
    if (!(loss instanceof LeaseLostError)) throw error;
    note({ what: "lost", code: loss.code, reason: loss.reason, message: loss.message });
  }
  try {
    await lease.unlock();
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    note({ what: "refused", code: error.code, message: error.message });
  }
  return done;
};
