import { setTimeout as sleep } from "node:timers/promises";
import { type Lease, LeaseLostError } from "holdfast";
import type { LockName } from "../names.js";
import { entered } from "./entered.js";
import { type Kind, lockOf } from "./kind.js";
import { PATIENCE_MS, type Task, type Workplace } from "./task.js";

export interface VisitInput {
  readonly lock: LockName;
  /** Default: a plain lock. */
  readonly kind?: Kind;
  readonly times: number;
  readonly stayMs: number | "until told";
  /** What it does elsewhere between two visits. */
  readonly pauseMs: number;
}

/** Enters a lock, stays a while and leaves. @returns false when a lease was lost meanwhile */
export const visit: Task<VisitInput, boolean> = async (workplace, { lock, kind, times, stayMs, pauseMs }) => {
  for (let visits = 1; visits <= times; visits += 1) {
    workplace.note({ what: "asking" });
    try {
      await lockOf(workplace.holdfast, lock, kind).using({ waitMs: PATIENCE_MS }, async (lease) => {
        workplace.note(entered(lease));
        await stay(workplace, lease, stayMs);
        workplace.note({ what: "leaving" });
      });
    } catch (error) {
      if (!(error instanceof LeaseLostError)) throw error;
      const { code, reason, message } = error;
      workplace.note({ what: "lost", code, reason, message });
      return false;
    }
    if (visits < times) await sleep(pauseMs);
  }
  return true;
};

/** Rejects with the LeaseLostError when the lease ends first. */
function stay(workplace: Workplace, lease: Lease, stayMs: VisitInput["stayMs"]): Promise<void> {
  return new Promise((resolve, reject) => {
    lease.signal.addEventListener("abort", () => reject(lease.signal.reason), { once: true });
    const end = stayMs === "until told" ? workplace.told() : sleep(stayMs);
    end.then(resolve, reject);
  });
}
