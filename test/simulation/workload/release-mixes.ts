import { pick } from "../draw.js";
import type { Distance } from "../world/wire.js";
import { askAndGiveUp, takeSeveral } from "./mix-steps.js";
import type { Mix } from "./mixes.js";

const NEAR: Distance = { leastUs: 100, spreadUs: 200 };

/**
 * What is about giving back what nobody has any more: calls end soon, by their short command timeout or by themselves, and what they
 * leave would be there for long.
 */
export const releaseMixes: readonly Mix[] = [
  {
    name: "several at once",
    kinds: ["multi"],
    processes: [1, 2],
    tasks: [1, 2],
    faults: { sorts: ["answers lost", "cut", "late copy"], oneIn: 8 },
    plan: (stream) => ({
      distance: NEAR,
      watchdogMs: 10_000,
      commandTimeoutMs: pick(stream, [200, 400]),
    }),
    work: takeSeveral,
  },
  {
    name: "refusals",
    kinds: ["lock", "non-reentrant", "fair", "non-reentrant fair", "fenced", "spin", "multi", "read-write"],
    processes: [1, 2],
    tasks: [1, 2],
    faults: { sorts: ["refuses for a moment"], oneIn: 8 },
    plan: (stream) => ({
      distance: NEAR,
      watchdogMs: 10_000,
      commandTimeoutMs: pick(stream, [200, 400]),
    }),
    work: askAndGiveUp,
  },
];
