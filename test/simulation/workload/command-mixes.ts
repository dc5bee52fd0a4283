import { pick } from "../draw.js";
import type { Distance } from "../world/wire.js";
import { readUnderTheIdOfAWrite } from "./command-mix-steps.js";
import { usualSteps } from "./mix-steps.js";
import type { Mix } from "./mixes.js";

const NEAR: Distance = { leastUs: 100, spreadUs: 200 };
const FAR: Distance = { leastUs: 30_000, spreadUs: 5_000 };
/** What one task begins while another one's answer is on its way back meets it more often. */
const NEAR_OR_NOT: readonly [Distance, ...Distance[]] = [NEAR, { leastUs: 5_000, spreadUs: 2_000 }];
const COUNTS = ["semaphore", "permit semaphore", "latch"];

/** What is about commands that arrive more often, later, elsewhere or in vain. */
export const commandMixes: readonly Mix[] = [
  {
    name: "a server that is behind takes over",
    kinds: [...COUNTS, "lock", "fair", "read-write"],
    processes: [2, 3],
    tasks: [2, 3],
    faults: { sorts: ["late copy", "late copy", "answers lost", "server behind takes over"], oneIn: 8 },
    plan: (stream) => ({
      distance: NEAR,
      watchdogMs: pick(stream, [1_000, 3_000]),
      commandTimeoutMs: pick(stream, [200, 400]),
    }),
    work: usualSteps,
  },
  {
    name: "refusals after copies",
    kinds: [...COUNTS, "lock", "fair", "fenced"],
    processes: [1, 3],
    tasks: [1, 3],
    faults: { sorts: ["late copy", "late copy", "server full", "server read-only"], oneIn: 6 },
    plan: (stream) => ({
      distance: NEAR,
      rules: { resends: true, queues: true },
      watchdogMs: 3_000,
      commandTimeoutMs: pick(stream, [3_000, 1_000]),
    }),
    work: usualSteps,
  },
  {
    name: "several from afar",
    kinds: ["multi"],
    processes: [1, 2],
    tasks: [2, 4],
    plan: () => ({ distance: FAR, watchdogMs: 10_000, safetyPeriodMs: 5_000 }),
    work: usualSteps,
  },
  {
    name: "reads after a write in doubt",
    kinds: ["read-write", "fair read-write"],
    processes: [1, 2],
    tasks: [3, 4],
    faults: { sorts: ["answers lost", "server stands still", "late copy"], oneIn: 6 },
    plan: (stream) => ({
      distance: pick(stream, NEAR_OR_NOT),
      watchdogMs: pick(stream, [300, 1_000]),
      commandTimeoutMs: pick(stream, [200, 400]),
    }),
    work: readUnderTheIdOfAWrite,
  },
];
