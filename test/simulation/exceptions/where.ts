import type { ExceptionName } from "../checker/exceptions.js";
import type { TopologyName } from "../world/topology.js";

/** Where an exception is looked for. */
export interface Where {
  readonly only: readonly string[];
  readonly topology: TopologyName;
}

const LOCK: Where = { only: ["lock"], topology: "standalone" };
const FENCED: Where = { only: ["fenced"], topology: "standalone" };
const SEMAPHORE: Where = { only: ["semaphore"], topology: "standalone" };
const PERMITS: Where = { only: ["permit semaphore"], topology: "standalone" };

/** Where each exception is met soon. */
export const WHERE: Readonly<Record<ExceptionName, Where>> = {
  "believed after forceUnlock": LOCK,
  "believed after a loss of data": LOCK,
  "failover-lost": { ...LOCK, topology: "sentinel" },
  "slept through a move and a failover": { ...LOCK, topology: "cluster" },
  "token again: believed after forceUnlock": FENCED,
  "token again: believed after a loss of data": FENCED,
  "token again: failover-lost": { ...FENCED, topology: "sentinel" },
  "a permit is believed that was deleted": PERMITS,
  "a permit is believed that was released by its id": PERMITS,
  "a permit is believed that was shortened by another process": PERMITS,
  "permits of a process that was killed": SEMAPHORE,
  "permanent permits of a process that was killed": PERMITS,
  "permits of a client that was closed": SEMAPHORE,
  "permits whose release was tried in vain for a minute": PERMITS,
  "counts of a process that was killed": { only: ["latch"], topology: "standalone" },
};
