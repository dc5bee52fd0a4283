import type { Holdfast } from "../../../src/holdfast.js";
import type { Lock } from "../../../src/locks/lock.js";
import { ObservedDriver } from "../drivers/observed-driver.js";
import type { OpenBackend } from "../servers/backends.js";

/** A client of its own with both locks of a name. Only a message or the end of a TTL makes it ask again. */
export interface ReadWriteParty {
  readonly holdfast: Holdfast;
  readonly read: Lock;
  readonly write: Lock;
  /** Resolves when the call that it has just made was refused, and hears of releases. */
  waits(): Promise<void>;
}

const HOUR_MS = 3_600_000;

/** @param name of the lock */
export function readWriteParty(server: OpenBackend, name: string, fair = false): ReadWriteParty {
  let driver: ObservedDriver | undefined;
  const holdfast = server.client(
    { safetyPeriodMs: HOUR_MS },
    (inner) => (driver = new ObservedDriver(inner)),
  );
  const pair = holdfast.getReadWriteLock(name, { fair });
  return {
    holdfast,
    read: pair.readLock(),
    write: pair.writeLock(),
    waits: async () => driver?.waits(),
  };
}
