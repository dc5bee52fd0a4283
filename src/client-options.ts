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

/** Whether replicas must acknowledge a lock before the client relies on it. */
export interface ReplicaOptions {
  /**
   * `require`: if too few replicas acknowledge a lock in time, the client releases it and the call fails; if too few acknowledge a renewal,
   * the lease is not prolonged. `auto`: waits for all connected replicas, and publishes an event if there are too few. `off`: asks
   * no replica. Default: `auto` in a cluster and with Sentinels if the Redis client can ask replicas, else `off`.
   */
  readonly mode?: "auto" | "require" | "off";
  /**
   * How many replicas: a number, or a `majority` or `all` of the connected replicas, at least one. Only for `require`.
   * Default: 1.
   */
  readonly min?: number | "majority" | "all";
  /**
   * How long to wait for the replicas, in milliseconds: at most half of `commandTimeoutMs`, and a quarter of the
   * requested lease. Default: 1 000, or half of `commandTimeoutMs` if that is less.
   */
  readonly timeoutMs?: number;
}

/**
 * Which messages a cluster uses: those of `PUBLISH`, those of `SPUBLISH`, or both. `auto`: like Redisson,
 * sharded messages if the servers have them.
 */
export type PubSub = "auto" | "classic" | "sharded" | "both";

/** For how long a lock stays with the calls of one client while other clients wait for it. */
export interface HandOffOptions {
  /** How often the lock is handed on at most. Default: 100. */
  readonly maxCount?: number;
  /** For how many milliseconds the lock is handed on at most. Default: 100. */
  readonly maxMs?: number;
}

/** Describes the hold of a running body: of a lock, of a joint lock, or of permits. */
export interface AroundHold {
  /** The name of the lock or semaphore. */
  readonly name: string;
  /** The kind as events call it: `lock`, `fair-lock`, `multi-lock`, `semaphore` … */
  readonly kind: string;
  /** The holder as stored in Redis: for a joint lock the holders of its members, for leased permits their ids; empty for plain permits. */
  readonly holder: string;
  /** The fencing token of a fenced lock. */
  readonly token?: bigint;
  /** The note of the call. */
  readonly note?: string;
}

/** Runs a body inside code of the program. */
export type Around = <T>(hold: AroundHold, body: () => T) => T;

/** How a client works. */
export interface HoldfastOptions {
  /**
   * How long `lock`, `using`, `acquire` and `await` wait if the call does not set `waitMs`, in milliseconds. It does not apply to `try…`.
   * `Infinity`: for ever. Default: `Infinity`.
   */
  readonly waitMs?: number;
  /** The TTL of leases without `leaseMs`, in milliseconds; renewed every third of that time. Default: 30 000. */
  readonly watchdogMs?: number;
  /**
   * The `lockWatchdogTimeout` of the Redisson clients that use the same read-write locks, in milliseconds. Every third of that time this
   * client writes again the TTL that read holds need, because Redisson's watchdog may have lowered it. Default: 30 000.
   */
  readonly fleetWatchdogMs?: number;
  /** If a command is not answered within this many milliseconds, its outcome is unknown. Default: 3 000. */
  readonly commandTimeoutMs?: number;
  /** The longest time that a waiter relies on messages of Redis before it asks again, in milliseconds. Default: 5 000. */
  readonly safetyPeriodMs?: number;
  /**
   * How long a red lock of this client waits for the answer of one server, in milliseconds. Default: 50.
   */
  readonly redMemberTimeoutMs?: number;
  /** Whether replicas must acknowledge a lock before the client relies on it. Default: in a cluster and with Sentinels all connected replicas, if the client can ask them. */
  readonly replicas?: ReplicaOptions;
  /** Which messages to use in a cluster: those that Redisson clients use for the same names. Default: `auto`. */
  readonly pubSub?: PubSub;
  /**
   * Whether the locks that are requested in the same turn of the event loop travel as one command, each with its own answer. Default:
   * true.
   */
  readonly groupCommit?: boolean;
  /**
   * Whether a plain or non-reentrant lock passes from one call of this client to its next waiting call without becoming free
   * in between, and for how long: other clients have their turn afterwards. Default: 100 times, for at most 100 ms.
   */
  readonly handOff?: false | HandOffOptions;
  /** Turns the name that the program uses into the name of the key in Redis. Default: unchanged. */
  readonly nameMapper?: (name: string) => string;
  /**
   * `scope`: a call inside `using`, `run` or `asThread` re-enters the locks of that scope. `explicit`: only a
   * call that passes a `threadId` re-enters. Default: `scope`.
   */
  readonly reentry?: Reentry;
  /** Milliseconds to subtract from every lease, for servers whose clocks may differ after a failover. Default: 0. */
  readonly clockSkewMs?: number;
  /**
   * Runs each body of `using`, `tryUsing` and `run`, also with permits, inside code of the program, such as a span or a log context. It is
   * called in the scope of the hold, and must call the body once and return the body's result. If it throws before
   * that, the call fails with its error, and the lock is freed. Default: bodies run directly.
   */
  readonly around?: Around;
  /**
   * Whether the client sends its group a small report every few seconds: what it is, and the locks that it has held or waited for at
   * least since the last report. `fleet()` reads the reports. The first report comes after some seconds. Default: false.
   */
  readonly presence?: boolean | PresenceOptions;
  /** Time and timers. Default: those of the process. */
  readonly clock?: Clock;
}

/** Redisson's lockWatchdogTimeout: two renewals in a row may fail before a lease is lost. */
const WATCHDOG_MS = 30_000;
/** Redisson's timeout: far longer than a healthy answer takes, and far shorter than the watchdog's lease. */
const COMMAND_TIMEOUT_MS = 3_000;
/** Lost messages are rare, and a waiting process that asks every five seconds costs a server almost nothing. */
const SAFETY_PERIOD_MS = 5_000;
/**
 * Far longer than a healthy answer takes, and far shorter than any lease, so that a dead server does not use up the time for which the
 * lease is trusted.
 */
const RED_MEMBER_TIMEOUT_MS = 50;
/** Redisson's slavesSyncTimeout. */
const REPLICAS_TIMEOUT_MS = 1_000;
/**
 * This many hand-offs inside a client cost about as much as one hand-over between processes, so waiters of other processes hardly notice.
 */
const HAND_OFFS = 100;
/** The longest additional wait of another process, if critical sections are long. */
const HAND_OFF_MS = 100;
/** With a shorter lease, the watchdog could not renew in time on a busy machine. */
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
  /** Undefined if it is off. */
  readonly presence: PresenceSettings | undefined;
}

/** {@link ReplicaOptions} with all defaults filled in, except the mode, which the topology decides. */
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
  // A number from the caller must not exceed half of the command timeout; the default is lowered to this half.
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
