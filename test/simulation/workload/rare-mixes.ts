import { pick } from "../draw.js";
import type { Distance } from "../world/wire.js";
import type { Mix } from "./mixes.js";
import {
  extendOrLapse,
  loseAndGiveBack,
  readBesideReaders,
  severalLeases,
  stepsAmidBeats,
  stepsUntilClosed,
  takeTurns,
  takeTurnsOrSpin,
} from "./rare-steps.js";

const NEAR: Distance = { leastUs: 100, spreadUs: 200 };

/** What takes several rare events of different sorts, and so had never come together by itself. */
export const rareMixes: readonly Mix[] = [
  {
    name: "questions of those that stand",
    weight: 3,
    kinds: ["fair", "non-reentrant fair"],
    processes: [2, 3],
    tasks: [1, 2],
    faults: { sorts: ["late copy", "late copy", "message lost", "answers lost"], oneIn: 6 },
    plan: (stream) => ({
      distance: NEAR,
      rules: { resends: true, queues: true },
      watchdogMs: 3_000,
      commandTimeoutMs: pick(stream, [3_000, 1_000]),
    }),
    work: extendOrLapse,
  },
  {
    name: "handed over, lost and given back",
    kinds: ["lock", "non-reentrant"],
    processes: [1, 2],
    tasks: [3, 4],
    faults: { sorts: ["late answers", "late answers", "answers lost"], oneIn: 12 },
    plan: (stream) => ({
      distance: NEAR,
      watchdogMs: 1_000,
      commandTimeoutMs: pick(stream, [3_000, 1_000]),
      handOff: {},
    }),
    work: loseAndGiveBack,
  },
  {
    name: "readers beside readers",
    kinds: ["read-write", "fair read-write"],
    processes: [1, 3],
    tasks: [2, 4],
    plan: () => ({ watchdogMs: 10_000, safetyPeriodMs: 5_000 }),
    work: readBesideReaders,
  },
  {
    name: "permits of several leases",
    kinds: ["permit semaphore"],
    processes: [1, 2],
    tasks: [1, 2],
    plan: (stream) => ({ watchdogMs: pick(stream, [1_000, 3_000]) }),
    work: severalLeases,
  },
  {
    name: "steps amid beats",
    kinds: ["lock", "fair", "fenced", "read-write", "semaphore", "permit semaphore"],
    processes: [2, 3],
    tasks: [1, 2],
    faults: { sorts: ["answers lost", "refuses for a moment"], oneIn: 40 },
    plan: (stream) => ({
      distance: NEAR,
      watchdogMs: pick(stream, [1_000, 300]),
      presence: { everyMs: 1_000 },
    }),
    work: stepsAmidBeats,
  },
  {
    name: "closed amid its steps",
    kinds: ["semaphore", "permit semaphore", "lock", "fair"],
    processes: [2, 3],
    tasks: [2, 4],
    plan: () => ({ watchdogMs: 3_000 }),
    work: stepsUntilClosed,
  },
  {
    name: "a hot lock",
    weight: 2,
    kinds: ["lock", "non-reentrant", "fenced"],
    processes: [3, 4],
    tasks: [1, 3],
    plan: (stream) => ({
      distance: pick(stream, [NEAR, { leastUs: 2_000, spreadUs: 8_000 }]),
      watchdogMs: 3_000,
      safetyPeriodMs: 10_000,
    }),
    work: takeTurns,
  },
  {
    name: "a hot lock amid faults",
    weight: 2,
    kinds: ["lock", "non-reentrant", "fenced"],
    processes: [3, 4],
    tasks: [1, 2],
    faults: {
      sorts: ["cut", "message lost", "late copy", "answers lost", "stop", "kill", "server full"],
      oneIn: 20,
    },
    plan: (stream) => ({ distance: NEAR, watchdogMs: pick(stream, [1_000, 3_000]), safetyPeriodMs: 10_000 }),
    work: takeTurns,
  },
  {
    name: "spin locks beside plain ones",
    weight: 2,
    kinds: ["lock"],
    besides: ["spin"],
    processes: [3, 4],
    tasks: [1, 3],
    plan: (stream) => ({
      distance: pick(stream, [NEAR, { leastUs: 2_000, spreadUs: 8_000 }]),
      watchdogMs: 3_000,
      safetyPeriodMs: 10_000,
    }),
    work: takeTurnsOrSpin,
  },
  {
    name: "spin locks beside plain ones amid faults",
    kinds: ["lock"],
    besides: ["spin"],
    processes: [3, 4],
    tasks: [1, 2],
    faults: {
      sorts: ["cut", "message lost", "late copy", "answers lost", "stop", "kill", "server full"],
      oneIn: 20,
    },
    plan: (stream) => ({ distance: NEAR, watchdogMs: pick(stream, [1_000, 3_000]), safetyPeriodMs: 10_000 }),
    work: takeTurnsOrSpin,
  },
];
