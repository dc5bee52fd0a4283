import { pick } from "../draw.js";
import type { Distance } from "../world/wire.js";
import type { Mix } from "./mixes.js";
import { bothHalves } from "./pair-steps.js";
import { lostAmidRelease } from "./permit-mix-steps.js";

const NEAR: Distance = { leastUs: 100, spreadUs: 200 };

/** What only some kinds have. */
export const kindMixes: readonly Mix[] = [
  {
    name: "both halves of a pair",
    kinds: ["read-write", "fair read-write"],
    processes: [2, 3],
    tasks: [1, 2],
    plan: (stream) => ({ distance: NEAR, watchdogMs: pick(stream, [1_000, 300, 3_000]) }),
    work: bothHalves,
  },
  {
    name: "permits that are lost amid their release",
    kinds: ["permit semaphore"],
    processes: [2, 3],
    tasks: [1, 2],
    faults: { sorts: ["cut", "stall", "slow requests", "half-open"], oneIn: 6 },
    plan: (stream) => ({ distance: NEAR, watchdogMs: 1_000, commandTimeoutMs: pick(stream, [200, 400]) }),
    work: lostAmidRelease,
  },
];
