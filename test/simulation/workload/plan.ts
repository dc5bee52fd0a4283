import type { HandOffOptions, HoldfastOptions } from "../../../src/client-options.js";
import type { Stream } from "../chooser/chooser.js";
import { oneIn, pick } from "../draw.js";
import type { ResendRules } from "../world/command-link.js";
import type { ClockSettings } from "../world/sim-process.js";
import type { Distance } from "../world/wire.js";

const DAY_MS = 86_400_000;
/** Today's size: some bugs only show with such numbers. */
const EPOCH_MS = 1_795_132_800_000;

/** How one process and its client are. */
export interface ClientPlan {
  readonly clock: ClockSettings;
  readonly distance: Distance;
  readonly rules: ResendRules;
  readonly options: Omit<HoldfastOptions, "presence"> & {
    readonly watchdogMs: number;
    readonly commandTimeoutMs: number;
    readonly safetyPeriodMs: number;
    readonly redMemberTimeoutMs: number;
    readonly presence?: { readonly everyMs: number };
  };
  /** What its calls may ask for as `watchdogMs`; most processes do not. */
  readonly callWatchdogsMs: readonly number[];
  /** Whether its bodies run inside `around`. */
  readonly hasAround: boolean;
}

/** How the Redis clients that holdfast knows behave by their defaults and otherwise. */
const RULES: readonly [ResendRules, ...ResendRules[]] = [
  { resends: true, queues: true },
  { resends: false, queues: true },
  { resends: false, queues: false },
];

/** From another region: with a very short lease hardly an answer would come in time. */
const FAR: Distance = { leastUs: 15_000, spreadUs: 20_000 };
const DISTANCES: readonly [Distance, ...Distance[]] = [
  { leastUs: 100, spreadUs: 200 },
  { leastUs: 100, spreadUs: 3_000 },
  { leastUs: 5_000, spreadUs: 2_000 },
  FAR,
];

/** @param fleetWatchdogMs that of the JVMs in the fleet */
export function planClient(stream: Stream, fleetWatchdogMs = 30_000): ClientPlan {
  const distance = pick(stream, DISTANCES);
  const watchdogMs = pick(stream, distance === FAR ? [1_000, 3_000, 10_000] : [1_000, 3_000, 300, 10_000]);
  const offsetMs = pick(stream, [0, 0, 0, 0, 1, -3_600_000, 7 * DAY_MS, -900 * DAY_MS]);
  return {
    clock: { epochMs: EPOCH_MS + offsetMs, rate: pick(stream, [1, 1, 1.001, 0.999]) },
    distance,
    rules: pick(stream, RULES),
    options: {
      watchdogMs,
      fleetWatchdogMs,
      commandTimeoutMs: pick(stream, [1_000, 400, 200, 3_000]),
      safetyPeriodMs: pick(stream, [2_000, 500, 5_000]),
      groupCommit: !oneIn(stream, 4),
      handOff: pick<false | HandOffOptions>(stream, [{}, false, { maxCount: 2, maxMs: 50 }]),
      redMemberTimeoutMs: pick(stream, distance === FAR ? [200, 100] : [50, 20, 200]),
      reentry: pick(stream, ["scope", "scope", "scope", "explicit"]),
    },
    callWatchdogsMs: [],
    hasAround: false,
  };
}

const CALL_WATCHDOGS_MS: readonly [readonly number[], ...(readonly number[])[]] = [
  [],
  [],
  [],
  [],
  [1_000],
  [1_500, 5_000],
  [2_000, 10_000],
];

/** What the calls of a process may ask for besides, and what goes around its bodies. */
export function planCalls(stream: Stream): Pick<ClientPlan, "callWatchdogsMs" | "hasAround"> {
  return { callWatchdogsMs: pick(stream, CALL_WATCHDOGS_MS), hasAround: oneIn(stream, 3) };
}

/** The longest lease that the watchdog renews for the process. */
export function longestWatchdogMs({ options, callWatchdogsMs }: ClientPlan): number {
  return Math.max(options.watchdogMs, ...callWatchdogsMs);
}

/** How often a client with presence tells, in milliseconds: runs last for some seconds. */
const BEAT_MS = 1_000;

/** The plan, where one process in three has presence. */
export function withPresence(plan: ClientPlan, stream: Stream): ClientPlan {
  return oneIn(stream, 3) ? { ...plan, options: { ...plan.options, presence: { everyMs: BEAT_MS } } } : plan;
}

/** What the clock of a server shows at the beginning of a run. */
export function planServerEpoch(stream: Stream): number {
  return EPOCH_MS + pick(stream, [0, 0, 0, 5_000, -DAY_MS, 400 * DAY_MS]);
}
