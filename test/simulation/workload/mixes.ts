import type { Stream } from "../chooser/chooser.js";
import { pick } from "../draw.js";
import type { Distance } from "../world/wire.js";
import type { Caller } from "./caller.js";
import { commandMixes } from "./command-mixes.js";
import { endMixes } from "./end-mixes.js";
import type { Shared } from "./family.js";
import { kindMixes } from "./kind-mixes.js";
import { leaseMixes } from "./lease-mixes.js";
import {
  abortAmongEachOther,
  askAndGiveUp,
  busyOrFar,
  enterAgain,
  queueForMoments,
  usualSteps,
} from "./mix-steps.js";
import type { ClientPlan } from "./plan.js";
import { rareMixes } from "./rare-mixes.js";
import { releaseMixes } from "./release-mixes.js";

/**
 * A schedule that is about one thing: one name, few sorts of fault that strike often, and tasks that do little else. What takes
 * several rare events in a row to happen, in schedules that have a little of everything, happens here.
 */
export interface Mix {
  readonly name: string;
  /** How many times as often it is played as the others. Default: once. */
  readonly weight?: number;
  /** It is played with one of these. */
  readonly kinds: readonly string[];
  /** Kinds that its tasks use beside that, under the same name. Default: none. */
  readonly besides?: readonly string[];
  /** The least and the most that there are. */
  readonly processes: readonly [number, number];
  readonly tasks: readonly [number, number];
  /** Which faults there are, in every so-manyth moment of a command; undefined: none. */
  readonly faults?: { readonly sorts: readonly [string, ...string[]]; readonly oneIn: number };
  /** A JVM takes part that has a lock for so long, and dies after so long. Default: none. */
  readonly jvm?: {
    readonly holdsMs: readonly [number, ...number[]];
    readonly diesAfterMs: readonly [number, ...number[]];
  };
  /** What is other about its clients. @param at which process it is */
  plan(stream: Stream, at: number): Partial<Pick<ClientPlan, "distance" | "rules"> & ClientPlan["options"]>;
  /** All that a task does. */
  work(caller: Caller, shared: Shared): Promise<void>;
}

const NEAR: Distance = { leastUs: 100, spreadUs: 200 };
/** Two ways of each of these are far more than the shortest yield. */
const FAR: readonly [Distance, ...Distance[]] = [
  { leastUs: 10_000, spreadUs: 2_000 },
  { leastUs: 30_000, spreadUs: 5_000 },
];

const FAIR = ["fair", "non-reentrant fair"];
const PLAIN = ["lock", "non-reentrant"];

const MIXES: readonly Mix[] = [
  {
    name: "late news of grants",
    weight: 4,
    kinds: FAIR,
    processes: [3, 4],
    tasks: [1, 2],
    faults: { sorts: ["late messages", "answers lost", "server pauses"], oneIn: 8 },
    plan: (stream) => ({
      distance: NEAR,
      watchdogMs: pick(stream, [300, 1_000]),
      commandTimeoutMs: pick(stream, [1_000, 400]),
    }),
    work: queueForMoments,
  },
  {
    name: "late copies",
    kinds: [...PLAIN, ...FAIR, "fenced", "spin", "read-write"],
    processes: [2, 3],
    tasks: [1, 2],
    faults: { sorts: ["late copy", "answers lost", "slow requests", "cut"], oneIn: 8 },
    plan: (stream) => ({
      distance: NEAR,
      watchdogMs: 10_000,
      commandTimeoutMs: pick(stream, [200, 400]),
    }),
    work: askAndGiveUp,
  },
  {
    name: "signals amid hand-overs",
    kinds: [...PLAIN, ...FAIR, "multi", "read-write"],
    processes: [1, 2],
    tasks: [2, 4],
    plan: () => ({ watchdogMs: 3_000 }),
    work: abortAmongEachOther,
  },
  {
    name: "a busy client and a far one",
    kinds: PLAIN,
    processes: [2, 2],
    tasks: [3, 3],
    plan: (stream, at) => ({
      distance: at === 0 ? NEAR : pick(stream, FAR),
      watchdogMs: 3_000,
      handOff: {},
    }),
    work: busyOrFar,
  },
  {
    name: "lost messages",
    kinds: [...PLAIN, ...FAIR, "fenced", "read-write", "semaphore", "permit semaphore", "latch"],
    processes: [2, 4],
    tasks: [1, 2],
    faults: { sorts: ["message lost", "messages cut"], oneIn: 12 },
    plan: () => ({ watchdogMs: 3_000, safetyPeriodMs: 5_000 }),
    work: usualSteps,
  },
  {
    name: "no faults",
    kinds: [...PLAIN, ...FAIR, "fenced", "read-write", "semaphore", "permit semaphore", "latch"],
    processes: [2, 4],
    tasks: [2, 3],
    plan: () => ({ watchdogMs: 10_000, safetyPeriodMs: 5_000 }),
    work: usualSteps,
  },
  {
    name: "lost answers within short leases",
    weight: 2,
    kinds: ["lock", "fair", "fenced", "read-write", "multi"],
    processes: [1, 2],
    tasks: [2, 3],
    faults: { sorts: ["answers lost", "cut", "slow requests", "late copy"], oneIn: 6 },
    plan: (stream) => ({
      distance: pick(stream, [NEAR, { leastUs: 5_000, spreadUs: 2_000 }]),
      watchdogMs: pick(stream, [300, 1_000]),
      commandTimeoutMs: pick(stream, [200, 1_000]),
      reentry: "scope",
    }),
    work: enterAgain,
  },
  ...commandMixes,
  ...releaseMixes,
  ...kindMixes,
  ...leaseMixes,
  ...endMixes,
  // Kept histories name a mix by its place: new ones come last.
  ...rareMixes,
];

/** So many of ten schedules with one server have a mix of everything; the others have one of these. */
const WITHOUT = 3;

/** @param kinds those that the schedule may have */
export function drawMix(stream: Stream, kinds: readonly string[]): { mix: Mix; kind: string } | undefined {
  if (stream.choose(10) < WITHOUT) return undefined;
  const mixes = MIXES.flatMap((mix) => {
    const isPlayed = mix.kinds.some((kind) => kinds.includes(kind));
    return isPlayed ? Array.from({ length: mix.weight ?? 1 }, () => mix) : [];
  });
  const mix = mixes[stream.choose(Math.max(1, mixes.length))];
  const fitting = mix?.kinds.filter((kind) => kinds.includes(kind)) ?? [];
  const kind = fitting[stream.choose(Math.max(1, fitting.length))];
  return mix === undefined || kind === undefined ? undefined : { mix, kind };
}

/** The plan of a client, as a mix has it. */
export function planIn(mix: Mix, plan: ClientPlan, stream: Stream, at: number): ClientPlan {
  const { distance = plan.distance, rules = plan.rules, ...options } = mix.plan(stream, at);
  return { ...plan, distance, rules, options: { ...plan.options, ...options } };
}
