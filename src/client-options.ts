import {
  checkCount,
  checkFlag,
  checkObject,
  checkWait,
  duration,
  known,
  refuseUnknown,
  shown,
} from "./checks.js";
import type { Clock } from "./clock.js";
import { checkReentry, LOCK_OPTIONS, type Reentry } from "./options.js";
import {
  type PresenceOptions,
  type PresenceSettings,
  presenceSettings,
} from "./presence/presence-options.js";

/** Whether replicas are to have a lock before it is believed. */
export interface ReplicaOptions {
  /**
   * `require`: an acquisition that too few replicas have in time is given back and fails, and a renewal that too few have
   * does not prolong the lease. `auto`: all replicas that are connected are waited for, and too few are an event. `off`:
   * no replica is asked. Default: `auto` in a cluster and with Sentinels where the Redis client can ask, else `off`.
   */
  readonly mode?: "auto" | "require" | "off";
  /**
   * How many: a number, or a `majority` or `all` of those that are connected at the moment, one at least. Only for `require`.
   * Default: 1.
   */
  readonly min?: number | "majority" | "all";
  /**
   * How long to wait for them, in milliseconds: half of `commandTimeoutMs` at most, and never longer than a quarter of the
   * lease that is asked for. Default: 1 000, or half of `commandTimeoutMs` where that is less.
   */
  readonly timeoutMs?: number;
}

/**
 * Which messages are sent and listened to in a cluster: those of `PUBLISH`, those of `SPUBLISH`, or both. `auto`: as Redisson
 * chooses by itself, sharded where the servers know it.
 */
export type PubSub = "auto" | "classic" | "sharded" | "both";

/** For how long a lock stays with the calls of one client while other clients wait for it. */
export interface HandOffOptions {
  /** How often it is handed on at most. Default: 100. */
  readonly maxCount?: number;
  /** For how many milliseconds it is handed on at most. Default: 100. */
  readonly maxMs?: number;
}

/** What a body has while it runs: the hold of a lock, the holds of a joint lock, or permits. */
export interface AroundHold {
  /** The name of the lock or semaphore. */
  readonly name: string;
  /** As events call it: `lock`, `fair-lock`, `multi-lock`, `semaphore` … */
  readonly kind: string;
  /** As stored in Redis: of a joint lock those of its members, of leased permits their ids; empty for plain permits. */
  readonly holder: string;
  /** The fencing token, of a fenced lock. */
  readonly token?: bigint;
  /** What the call has said about it. */
  readonly note?: string;
}

/** Runs a body inside something of the program's own. */
export type Around = <T>(hold: AroundHold, body: () => T) => T;

/** How a client works. */
export interface HoldfastOptions {
  /**
   * How long a call waits that does not say so itself, in milliseconds: `lock`, `using`, `acquire` and `await`, but no `try…`.
   * `Infinity`: for ever. Default: `Infinity`.
   */
  readonly waitMs?: number;
  /** TTL of leases without `leaseMs`, in milliseconds, renewed each third of it. Default: 30 000. */
  readonly watchdogMs?: number;
  /**
   * The `lockWatchdogTimeout` of the Redisson clients that use the same read-write locks, in milliseconds: each third of
   * it the TTL that read holds need is written again, since Redisson's watchdog may have lowered it. Default: 30 000.
   */
  readonly fleetWatchdogMs?: number;
  /** A command without an answer after so many milliseconds has an unknown outcome. Default: 3 000. */
  readonly commandTimeoutMs?: number;
  /** The longest a waiter trusts the messages of Redis before it asks again, in milliseconds. Default: 5 000. */
  readonly safetyPeriodMs?: number;
  /**
   * How long a red lock that this client makes waits for the answer of one of its servers, in milliseconds. Default: 50.
   */
  readonly redMemberTimeoutMs?: number;
  /** Whether replicas are to have a lock before it is believed. Default: in a cluster and with Sentinels as many as are connected, where the client can ask. */
  readonly replicas?: ReplicaOptions;
  /** Which messages to use in a cluster: the same as the Redisson clients that use the same names. Default: `auto`. */
  readonly pubSub?: PubSub;
  /**
   * Whether what is asked for in the same turn of the event loop travels as one command, each lock answered by itself. Default:
   * true.
   */
  readonly groupCommit?: boolean;
  /**
   * Whether a plain or non-reentrant lock passes from one call of this client to the next that waits for it without being free
   * in between, and for how long: other clients have their turn afterwards. Default: 100 times, for 100 ms at most.
   */
  readonly handOff?: false | HandOffOptions;
  /** Turns the name that the program uses into the name of the key in Redis. Default: unchanged. */
  readonly nameMapper?: (name: string) => string;
  /**
   * `scope`: a call inside `using`, `run` or `asThread` re-enters the locks which those hold. `explicit`: only a
   * call that passes a `threadId` re-enters. Default: `scope`.
   */
  readonly reentry?: Reentry;
  /** Milliseconds to take off every lease, for servers whose clocks may differ after a failover. Default: 0. */
  readonly clockSkewMs?: number;
  /**
   * Runs each body of `using`, `tryUsing` and `run`, those with permits as well, inside something of the program's own, as a span or a log
   * context. It is called in the scope of the hold, once for each body, and is to call the body once and to return what that returns. If it
   * throws before, the call fails with that, and the lock is freed. Default: bodies run by themselves.
   */
  readonly around?: Around;
  /**
   * Whether the client tells the clients of its group, by a small command every few seconds, what it is and what it has held or waited for
   * since before the last one: `fleet()` reads it. Nothing is told in the first seconds. Default: false.
   */
  readonly presence?: boolean | PresenceOptions;
  /** Time and timers. Default: those of the process. */
  readonly clock?: Clock;
}

/** Redisson's lockWatchdogTimeout: two renewals in a row may fail before a lease is lost. */
const WATCHDOG_MS = 30_000;
/** Redisson's timeout: far above a healthy answer, far below the watchdog's lease. */
const COMMAND_TIMEOUT_MS = 3_000;
/** A lost message is rare; a waiting process that asks each five seconds costs a server next to nothing. */
const SAFETY_PERIOD_MS = 5_000;
/** Far above a healthy answer, and far below any lease: a dead server may not use up the time that is trusted. */
const RED_MEMBER_TIMEOUT_MS = 50;
/** Redisson's slavesSyncTimeout. */
const REPLICAS_TIMEOUT_MS = 1_000;
/** As many cost about as much as one hand-over between processes, so waiters of other processes hardly notice. */
const HAND_OFFS = 100;
/** The longest additional wait of another process, where critical sections are long. */
const HAND_OFF_MS = 100;
/** Below this the watchdog could not renew in time on a busy machine. */
const SHORTEST_WATCHDOG_MS = 100;

/** The options of a client with every default filled in. */
export interface ClientSettings {
  readonly waitMs: number;
  readonly watchdogMs: number;
  readonly fleetWatchdogMs: number;
  readonly commandTimeoutMs: number;
  readonly safetyPeriodMs: number;
  readonly redMemberTimeoutMs: number;
  readonly replicas: ReplicaSettings;
  readonly pubSub: PubSub;
  readonly groupCommit: boolean;
  readonly handOff: false | Required<HandOffOptions>;
  readonly nameMapper: (name: string) => string;
  readonly reentry: Reentry;
  readonly clockSkewMs: number;
  readonly around: Around | undefined;
  /** Undefined where it is off. */
  readonly presence: PresenceSettings | undefined;
}

/** The same with every default filled in but that of the mode, which the topology decides. */
export interface ReplicaSettings {
  readonly mode: "auto" | "require" | "off" | undefined;
  readonly min: number | "majority" | "all";
  readonly timeoutMs: number;
}

const CLIENT_OPTIONS = known<HoldfastOptions>("option", "a client", {
  waitMs: true,
  watchdogMs: true,
  fleetWatchdogMs: true,
  commandTimeoutMs: true,
  safetyPeriodMs: true,
  redMemberTimeoutMs: true,
  replicas: true,
  pubSub: true,
  groupCommit: true,
  handOff: true,
  nameMapper: true,
  reentry: true,
  clockSkewMs: true,
  around: true,
  presence: true,
  clock: true,
});
const REPLICA_OPTIONS = known<ReplicaOptions>("setting", "replicas", {
  mode: true,
  min: true,
  timeoutMs: true,
});
const HAND_OFF_OPTIONS = known<HandOffOptions>("setting", "handOff", { maxCount: true, maxMs: true });

/** @throws TypeError, RangeError */
export function clientSettings(options: HoldfastOptions): ClientSettings {
  checkObject("options", options);
  const { nameMapper = (name: string) => name, reentry = "scope", clock, ...others } = options;
  const { waitMs, watchdogMs, fleetWatchdogMs, commandTimeoutMs, safetyPeriodMs, ...rest } = others;
  const {
    redMemberTimeoutMs,
    clockSkewMs,
    around,
    replicas = {},
    pubSub = "auto",
    groupCommit = true,
    handOff = {},
    presence = false,
    ...unknown
  } = rest;
  refuseUnknown(CLIENT_OPTIONS, unknown, [LOCK_OPTIONS]);
  if (typeof nameMapper !== "function") throw new TypeError("nameMapper must be a function");
  if (clock !== undefined) checkClock(clock);
  if (around !== undefined && typeof around !== "function") {
    throw new TypeError(`around must be a function, got ${shown(around)}`);
  }
  checkReentry(reentry);
  checkPubSub(pubSub);
  checkFlag("groupCommit", groupCommit);
  return {
    waitMs: checkWait(waitMs) ?? Number.POSITIVE_INFINITY,
    watchdogMs: duration("watchdogMs", watchdogMs, SHORTEST_WATCHDOG_MS) ?? WATCHDOG_MS,
    fleetWatchdogMs: duration("fleetWatchdogMs", fleetWatchdogMs, SHORTEST_WATCHDOG_MS) ?? WATCHDOG_MS,
    commandTimeoutMs: duration("commandTimeoutMs", commandTimeoutMs, 1) ?? COMMAND_TIMEOUT_MS,
    safetyPeriodMs: duration("safetyPeriodMs", safetyPeriodMs, 1) ?? SAFETY_PERIOD_MS,
    redMemberTimeoutMs: duration("redMemberTimeoutMs", redMemberTimeoutMs, 1) ?? RED_MEMBER_TIMEOUT_MS,
    replicas: replicaSettings(replicas, commandTimeoutMs ?? COMMAND_TIMEOUT_MS),
    pubSub,
    groupCommit,
    handOff: handOff === false ? false : handOffSettings(handOff),
    nameMapper,
    reentry,
    clockSkewMs: duration("clockSkewMs", clockSkewMs, 0) ?? 0,
    around,
    presence: presenceSettings(presence),
  };
}

function replicaSettings(replicas: ReplicaOptions, commandTimeoutMs: number): ReplicaSettings {
  checkObject("replicas", replicas, '{ mode: "require" }');
  const { mode, min, timeoutMs, ...unknown } = replicas;
  refuseUnknown(REPLICA_OPTIONS, unknown);
  if (mode !== undefined && mode !== "auto" && mode !== "require" && mode !== "off") {
    throw new TypeError(`replicas.mode must be "auto", "require" or "off", got ${String(mode)}`);
  }
  if (min !== undefined && mode !== "require") throw new TypeError('replicas.min needs mode "require"');
  if (typeof min === "number") checkCount("replicas.min", min, 1, 1_000);
  else if (min !== undefined && min !== "majority" && min !== "all") {
    throw new TypeError(`replicas.min must be a number, "majority" or "all", got ${String(min)}`);
  }
  const longestMs = commandTimeoutMs / 2;
  // A given number has to fit; the default is lowered where `commandTimeoutMs` is short.
  const chosenMs = duration("replicas.timeoutMs", timeoutMs, 1);
  if (chosenMs !== undefined && chosenMs > longestMs) {
    throw new RangeError(`replicas.timeoutMs must be at most half of commandTimeoutMs, got ${chosenMs}`);
  }
  const defaultMs = Math.max(1, Math.min(REPLICAS_TIMEOUT_MS, Math.floor(longestMs)));
  return { mode, min: min ?? 1, timeoutMs: chosenMs ?? defaultMs };
}

function handOffSettings(handOff: HandOffOptions): Required<HandOffOptions> {
  checkObject("handOff", handOff, "{ maxCount: 10 } or false");
  const { maxCount, maxMs, ...unknown } = handOff;
  refuseUnknown(HAND_OFF_OPTIONS, unknown);
  if (maxCount !== undefined) checkCount("handOff.maxCount", maxCount, 1, 1_000_000);
  return {
    maxCount: maxCount ?? HAND_OFFS,
    maxMs: duration("handOff.maxMs", maxMs, 1) ?? HAND_OFF_MS,
  };
}

function checkClock(clock: Partial<Clock> | null): void {
  const methods = ["monotonicMs", "wallMs", "schedule"] as const;
  const missing = methods.filter((method) => typeof clock?.[method] !== "function");
  if (missing.length === 0) return;
  throw new TypeError(`clock must have the methods ${methods.join(", ")}: ${missing.join(", ")} missing`);
}

function checkPubSub(pubSub: PubSub): void {
  if (pubSub !== "auto" && pubSub !== "classic" && pubSub !== "sharded" && pubSub !== "both") {
    throw new TypeError(`pubSub must be "auto", "classic", "sharded" or "both", got ${String(pubSub)}`);
  }
}
