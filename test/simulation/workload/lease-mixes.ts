import { pick } from "../draw.js";
import type { Distance } from "../world/wire.js";
import {
  dropSome,
  holdLong,
  losePartOfSeveral,
  outliveLeases,
  stayOn,
  waitForLong,
} from "./lease-mix-steps.js";
import type { Mix } from "./mixes.js";

const NEAR: Distance = { leastUs: 100, spreadUs: 200 };
const FAR: readonly [Distance, ...Distance[]] = [
  { leastUs: 10_000, spreadUs: 2_000 },
  { leastUs: 30_000, spreadUs: 5_000 },
];

/** What is about leases in the long run. */
export const leaseMixes: readonly Mix[] = [
  {
    name: "releases amid renewals",
    kinds: ["read-write", "fair read-write"],
    processes: [1, 2],
    tasks: [2, 3],
    plan: (stream) => ({ distance: pick(stream, FAR), watchdogMs: 1_000, reentry: "scope" }),
    work: stayOn,
  },
  {
    name: "short outages of long leases",
    kinds: ["lock", "fair", "non-reentrant", "fenced", "spin", "read-write"],
    processes: [1, 2],
    tasks: [1, 1],
    faults: { sorts: ["answers lost", "cut"], oneIn: 6 },
    plan: (stream) => ({
      distance: NEAR,
      watchdogMs: pick(stream, [10_000, 3_000]),
      commandTimeoutMs: pick(stream, [200, 400]),
    }),
    work: outliveLeases,
  },
  {
    name: "joint locks that lose a part",
    kinds: ["multi"],
    processes: [2, 3],
    tasks: [1, 2],
    plan: (stream) => ({ watchdogMs: pick(stream, [1_000, 3_000]) }),
    work: losePartOfSeveral,
  },
  {
    name: "waiting for long",
    kinds: ["read-write", "lock"],
    processes: [2, 3],
    tasks: [2, 3],
    plan: () => ({ watchdogMs: 3_000, safetyPeriodMs: 5_000 }),
    work: waitForLong,
  },
  {
    name: "leases that are dropped",
    kinds: ["read-write", "fair read-write"],
    processes: [2, 3],
    tasks: [2, 4],
    plan: (stream) => ({ distance: NEAR, watchdogMs: pick(stream, [3_000, 1_000]) }),
    work: dropSome,
  },
  {
    name: "long leases beside a JVM that dies",
    kinds: ["read-write", "lock", "fair", "fenced"],
    processes: [1, 2],
    tasks: [2, 3],
    jvm: { holdsMs: [4_000, 1_500, 50], diesAfterMs: [2_000, 1_200, 3_500] },
    plan: (stream) => ({ watchdogMs: pick(stream, [3_000, 10_000]) }),
    work: holdLong,
  },
];
