import { setTimeout as sleep } from "node:timers/promises";
import { machineMs } from "../machine-time.js";
import type { LockName } from "../names.js";
import { PATIENCE_MS, type Task } from "./task.js";

export interface DownloadInput {
  readonly semaphore: LockName;
  readonly times: number;
  readonly stayMs: number;
}

/** Takes a permit, keeps it a while and gives it back, several times. */
export const download: Task<DownloadInput, null> = async (
  { holdfast, note },
  { semaphore, times, stayMs },
) => {
  note({ what: "client", id: holdfast.clientId });
  const slots = holdfast.getPermitExpirableSemaphore(semaphore);
  for (let done = 0; done < times; done += 1) {
    note({ what: "asking" });
    await slots.using({ watchdog: true, waitMs: PATIENCE_MS }, async (permits) => {
      const [holder = ""] = permits.ids;
      note({ what: "entered", holder, holdCount: 1, trustedUntilMs: machineMs() + permits.remainingMs() });
      await sleep(stayMs);
      note({ what: "leaving" });
    });
  }
  return null;
};
