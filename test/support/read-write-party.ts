import type { Holdfast } from "../../src/holdfast.js";
import type { Lock } from "../../src/locks/lock.js";
import type { OpenBackend } from "./backends.js";
import { ScriptedDriver } from "./scripted-driver.js";
import { until } from "./until.js";

/** A client of its own with both locks of a name. Only a message or the end of a TTL makes it ask again. */
export interface ReadWriteParty {
  readonly holdfast: Holdfast;
  readonly read: Lock;
  readonly write: Lock;
  /** Resolves when a call that waits for the lock has been refused and hears of releases. */
  waits(half: "read" | "write"): Promise<void>;
}

const HOUR_MS = 3_600_000;
/** Who is refused listens, and asks once more when it does. */
const ASKED_WHEN_LISTENING = 2;

/** @param name of the lock */
export function readWriteParty(server: OpenBackend, name: string, fair = false): ReadWriteParty {
  const drivers: ScriptedDriver[] = [];
  const holdfast = server.client({ safetyPeriodMs: HOUR_MS }, (inner) => {
    const driver = new ScriptedDriver(inner);
    drivers.push(driver);
    return driver;
  });
  const pair = holdfast.getReadWriteLock(name, { fair });
  const timesAsked = (half: string) =>
    drivers.flatMap(({ names }) => names).filter((script) => script === `${half}-acquire`).length;
  return {
    holdfast,
    read: pair.readLock(),
    write: pair.writeLock(),
    waits: (half) => until(() => timesAsked(half) >= ASKED_WHEN_LISTENING),
  };
}
