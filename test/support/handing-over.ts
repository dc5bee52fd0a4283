import { Holdfast } from "../../src/holdfast.js";
import { ObservedDriver } from "./observed-driver.js";
import type { ConnectedClient } from "./pair.js";

/** So long that a waiter which had to help itself would outlast its test. */
const HOUR_MS = 3_600_000;

/** Two clients of holdfast: one has what the other waits for, until a message wakes that one. */
export interface HandingOver {
  /** @param meanwhile runs while the second one waits and listens */
  lock(meanwhile: () => Promise<void>): Promise<void>;
  permits(): Promise<void>;
  close(): Promise<void>;
}

/** Where the client can have them acknowledged, each acquisition has to reach a replica. */
export function handingOver(
  [first, second]: readonly [ConnectedClient, ConnectedClient],
  name: string,
): HandingOver {
  const drivers = [new ObservedDriver(first.drive()), new ObservedDriver(second.drive())] as const;
  const [one, other] = drivers.map(
    (driver) =>
      new Holdfast(driver, {
        safetyPeriodMs: HOUR_MS,
        commandTimeoutMs: 10_000,
        ...(driver.runReplicated && { replicas: { mode: "require", timeoutMs: 5_000 } as const }),
      }),
  ) as [Holdfast, Holdfast];
  return {
    async lock(meanwhile) {
      const lease = await one.getLock(name).lock({ leaseMs: HOUR_MS });
      const waiting = other.getLock(name).lock({ leaseMs: HOUR_MS });
      await drivers[1].waits();
      await meanwhile();
      await lease.unlock();
      await (await waiting).unlock();
    },
    async permits() {
      const [semaphore, same] = [one, other].map((client) => client.getSemaphore(`${name}:permits`));
      if (semaphore === undefined || same === undefined) throw new Error("there are two clients");
      await semaphore.trySetPermits(1);
      await semaphore.acquire();
      const waiting = same.acquire();
      await drivers[1].waits();
      await semaphore.release();
      await waiting;
      await semaphore.delete();
    },
    async close() {
      await Promise.all([one.close(), other.close()]);
      await Promise.all([first.end(), second.end()]);
    },
  };
}
