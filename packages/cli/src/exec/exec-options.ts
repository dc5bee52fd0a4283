import { basename } from "node:path";
import type { OnBusy } from "holdfast/recipes";
import type { CommonOptions } from "../command.js";
import { readDuration, writeDuration } from "../duration.js";
import { exitCodes } from "../exit-codes.js";
import { mistake } from "../failure.js";
import { plain } from "../text/plain.js";
import { isKeepable } from "./release.js";

/** The kinds of locks that `--kind` accepts. */
export const lockKinds = ["lock", "fair", "fenced", "read", "write"] as const;
export type KindOfLock = (typeof lockKinds)[number];

/** The options as commander reads them. */
export interface ExecOptions extends CommonOptions {
  readonly wait?: string;
  /** `-n` */
  readonly n?: boolean;
  readonly kind?: KindOfLock;
  readonly ttl?: string;
  readonly lease?: string;
  readonly maxHold?: string;
  readonly atLeast?: string;
  readonly killAfter?: string;
  readonly reportEvery?: string;
  readonly report?: string;
  readonly shell?: boolean;
  readonly noGroup?: boolean;
  readonly note?: string;
  readonly nested?: boolean;
  readonly scrubEnv?: boolean;
  readonly onBusy?: OnBusy;
  readonly conflictExitCode?: string;
  readonly lostExitCode?: string;
  readonly dieWithParent?: boolean;
}

/** How to act if the lock is taken, in the words of the library. */
export const waysWhenBusy = ["wait", "skip", "throw"] as const satisfies OnBusy[];

/** What `exec` has to do, read from the command line before anything is sent to Redis. */
export interface ExecSettings {
  readonly name: string;
  readonly kind: KindOfLock;
  readonly waitMs: number;
  /** The TTL that the watchdog renews. */
  readonly ttlMs: number;
  /** The length of a fixed lease, if the lease is not to be renewed. */
  readonly leaseMs: number | undefined;
  readonly maxHoldMs: number | undefined;
  readonly atLeastMs: number;
  /** The time between SIGTERM and SIGKILL. */
  readonly killAfterMs: number;
  /** SIGKILL is sent at least this long before holdfast stops relying on the lease. */
  readonly lastMs: number;
  /** 0: never. */
  readonly reportEveryMs: number;
  readonly reportFile: string | undefined;
  readonly command: Runnable;
  /** Whether the command leads its own process group. */
  readonly isGroup: boolean;
  readonly note: string;
  readonly isNested: boolean;
  readonly scrubsEnv: boolean;
  readonly conflictExitCode: number;
  readonly lostExitCode: number;
  readonly diesWithParent: boolean;
}

/** A program and its arguments. */
export interface Runnable {
  readonly file: string;
  readonly args: readonly string[];
  /** The name of the file, for messages, presence and notes: arguments may be secrets. */
  readonly called: string;
}

/** Which standard streams are terminals. */
export interface Terminals {
  readonly stdin: boolean;
  readonly stderr: boolean;
}

/** Shorter leases leave no time to retry a renewal, and to end a command in time. */
const SHORTEST_LEASE_MS = 5_000;
const LONGEST_TTL_MS = 24 * 3_600_000;
const DEFAULT_TTL = "30s";
const DEFAULT_KILL_AFTER_MS = 10_000;
/** At most this part of a lease may pass between SIGTERM and SIGKILL. The watchdog renews after a third of the lease. */
const KILL_AFTER_SHARE = 1 / 3;
const LAST_SHARE = 0.05;
const SHORTEST_LAST_MS = 250;
/** If a fixed lease is longer than this, `lastMs` is 5 % of this length, because 5 % of the lease could be hours. */
const LONGEST_MEASURE_MS = 30_000;
const LONGEST_NOTE = 200;
const REPORT_EVERY_MS = 10_000;

/** The command line in a readable form, for messages. */
export const execForm = "holdfast exec NAME [options] -- COMMAND [ARG…]";

/**
 * @param command the words behind `--`
 * @throws Failure for invalid options, before anything is sent
 */
export function execSettings(
  name: string,
  command: readonly string[],
  options: ExecOptions,
  terminals: Terminals,
): ExecSettings {
  if (name === "") throw mistake(`the NAME of the lock is empty: ${execForm}`);
  if (name.includes("\n")) throw mistake(`the NAME of the lock has a line break in it: ${plain(name)}`);
  const kind = options.kind ?? "lock";
  const times = lengths(options);
  const atLeastMs = readDuration("--at-least", options.atLeast ?? "0s");
  const mostMs = Math.min(
    times.leaseMs ?? Number.POSITIVE_INFINITY,
    times.maxHoldMs ?? Number.POSITIVE_INFINITY,
  );
  if (!isKeepable(kind) && atLeastMs > mostMs) {
    const longest = times.leaseMs === undefined ? "--max-hold" : "--lease";
    throw mistake(
      `--at-least must not be longer than ${longest}: a ${kind} lock can not be kept after its release`,
    );
  }
  const runnable = runnableOf(command, options.shell === true);
  const note = options.note ?? runnable.called;
  if (note.length > LONGEST_NOTE)
    throw mistake(`--note must have at most ${LONGEST_NOTE} characters, got ${note.length}`);
  return {
    name,
    kind,
    waitMs: waitOf(options),
    ...times,
    atLeastMs,
    reportEveryMs:
      options.reportEvery === undefined
        ? terminals.stderr
          ? REPORT_EVERY_MS
          : 0
        : readDuration("--report-every", options.reportEvery),
    reportFile: options.report,
    command: runnable,
    isGroup: !terminals.stdin && options.noGroup !== true,
    note,
    isNested: options.nested === true,
    scrubsEnv: options.scrubEnv === true,
    conflictExitCode: conflictCodeOf(options),
    lostExitCode: exitCodeOf("--lost-exit-code", options.lostExitCode, exitCodes.lost),
    diesWithParent: options.dieWithParent === true,
  };
}

type Lengths = Pick<ExecSettings, "ttlMs" | "leaseMs" | "maxHoldMs" | "killAfterMs" | "lastMs">;

function lengths(options: ExecOptions): Lengths {
  const { ttl, lease, maxHold } = options;
  if (lease !== undefined && maxHold !== undefined)
    throw mistake("--lease and --max-hold exclude each other: a fixed lease is never renewed");
  if (lease !== undefined && ttl !== undefined)
    throw mistake("--lease and --ttl exclude each other: a fixed lease is never renewed");
  const bounds = { atLeastMs: SHORTEST_LEASE_MS };
  const ttlMs = readDuration("--ttl", ttl ?? DEFAULT_TTL, bounds);
  if (ttlMs > LONGEST_TTL_MS)
    throw mistake(`--ttl must be at most ${writeDuration(LONGEST_TTL_MS)}, got ${ttl}`);
  const leaseMs = lease === undefined ? undefined : readDuration("--lease", lease, bounds);
  const maxHoldMs = maxHold === undefined ? undefined : readDuration("--max-hold", maxHold, bounds);
  const wholeMs = Math.min(leaseMs ?? ttlMs, maxHoldMs ?? Number.POSITIVE_INFINITY);
  const measureMs = leaseMs === undefined ? ttlMs : Math.min(leaseMs, LONGEST_MEASURE_MS);
  return {
    ttlMs,
    leaseMs,
    maxHoldMs,
    killAfterMs: killAfterOf(options, Math.floor(wholeMs * KILL_AFTER_SHARE)),
    lastMs: Math.max(SHORTEST_LAST_MS, measureMs * LAST_SHARE),
  };
}

function killAfterOf({ killAfter, lease, maxHold }: ExecOptions, mostMs: number): number {
  if (killAfter === undefined) return Math.min(DEFAULT_KILL_AFTER_MS, mostMs);
  const killAfterMs = readDuration("--kill-after", killAfter);
  if (killAfterMs <= mostMs) return killAfterMs;
  const whole = maxHold !== undefined ? "--max-hold and --ttl" : lease !== undefined ? "--lease" : "--ttl";
  throw mistake(
    `--kill-after must be at most a third of ${whole}, which is ${writeDuration(mostMs)}, got ${killAfter}`,
  );
}

function conflictCodeOf({ onBusy, conflictExitCode }: ExecOptions): number {
  if (onBusy !== "skip") return exitCodeOf("--conflict-exit-code", conflictExitCode, exitCodes.conflict);
  if (conflictExitCode !== undefined)
    throw mistake(
      "--on-busy skip and --conflict-exit-code exclude each other: a skipped command exits with 0",
    );
  return exitCodes.ok;
}

function waitOf({ wait, n, onBusy }: ExecOptions): number {
  if (onBusy === "wait" && n === true) throw mistake("-n and --on-busy wait exclude each other");
  if (onBusy === "skip" || onBusy === "throw") {
    if (wait !== undefined)
      throw mistake(`--wait and --on-busy ${onBusy} exclude each other: it does not wait`);
    return 0;
  }
  if (n !== true)
    return wait === undefined ? Number.POSITIVE_INFINITY : readDuration("--wait", wait, { endless: true });
  if (wait !== undefined) throw mistake("-n and --wait exclude each other: -n is --wait 0s");
  return 0;
}

function runnableOf(command: readonly string[], isShell: boolean): Runnable {
  const [file, ...args] = command;
  if (file === undefined) throw mistake(`there is no COMMAND after --: ${execForm}`);
  if (file === "") throw mistake("the COMMAND is empty");
  if (!isShell) return { file, args, called: basename(file).slice(0, LONGEST_NOTE) };
  if (args.length > 0) {
    throw mistake(
      `--shell takes one argument, got ${command.length}: quote them together, as in -- 'make clean && make'`,
    );
  }
  return { file: "sh", args: ["-c", file], called: "sh" };
}

function exitCodeOf(option: string, text: string | undefined, usual: number): number {
  if (text === undefined) return usual;
  const code = Number(text);
  if (/^\d{1,3}$/.test(text) && code <= 255) return code;
  throw mistake(`${option} must be a number from 0 to 255, got "${text}"`);
}
