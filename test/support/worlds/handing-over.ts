import { Holdfast } from "../../../src/holdfast.js";
import type { ConnectedClient } from "../clients/pair.js";
import { ObservedDriver } from "../drivers/observed-driver.js";

/** So long that a waiter which had to help itself would outlast its test. */
const HOUR_MS = 3_600_000;

/** Two clients of holdfast: one has what the other waits for, until a message wakes that one. */
export interface HandingOver {
  /** @param meanwhile runs while the second one waits and listens */
  lock(meanwhile: () => Promise<void>): Promise<void>;
  permits(): Promise<void>;
  close(): Promise<void>;
}

/** No two have the same name, so that none is hindered by what a failed test has left. */
let names = 0;

/**
 * Where the client can have them acknowledged, each acquisition has to reach a replica. All names begin with `order:`.
 * @param connect is called for each of the two
 */
export async function handingOver(connect: () => Promise<ConnectedClient>): Promise<HandingOver> {
  const clients = [await connect(), await connect()] as const;
  const [first, second] = [new ObservedDriver(clients[0].drive()), new ObservedDriver(clients[1].drive())];
  const [one, other] = [patientClient(first), patientClient(second)];
  return {
    async lock(meanwhile) {
      const name = `order:${++names}`;
      const lease = await one.getLock(name).lock({ leaseMs: HOUR_MS });
      const waiting = other.getLock(name).lock({ leaseMs: HOUR_MS });
      await second.waits();
      await meanwhile();
      await lease.unlock();
      await (await waiting).unlock();
    },
    async permits() {
      const name = `order:${++names}`;
      const semaphore = one.getSemaphore(name);
      await semaphore.trySetPermits(1);
      await semaphore.acquire();
      const waiting = other.getSemaphore(name).acquire();
      await second.waits();
      await semaphore.release();
      await waiting;
      await semaphore.delete();
    },
    async close() {
      await Promise.all([one.close(), other.close()]);
      await Promise.all(clients.map((client) => client.end()));
    },
  };
}

/** Would wait an hour for what no message tells. */
function patientClient(driver: ObservedDriver): Holdfast {
  return new Holdfast(driver, {
    safetyPeriodMs: HOUR_MS,
    commandTimeoutMs: 10_000,
    ...(driver.runReplicated && { replicas: { mode: "require", timeoutMs: 5_000 } as const }),
  });
}
