import { types } from "node:util";
import { type Driver, DriverClosedError, ServerReplyError } from "../driver/driver.js";
import { ClientClosedError, UnavailableError } from "../errors.js";

/** Errors of a server that is starting, failing over, busy, or moving a slot: it or another server may soon answer. */
const PASSING = new Set([
  "LOADING",
  "TRYAGAIN",
  "CLUSTERDOWN",
  "MOVED",
  "ASK",
  "MASTERDOWN",
  "READONLY",
  "BUSY",
  "NOREPLICAS",
]);

/** The answers to a user without the right to a command, a key or a channel. */
const FORBIDDEN = /^NOPERM |The user executing the script can't|^ERR ACL failure in script/;

/** Advice for refusals that do not say what to do. */
const HINTS: readonly (readonly [RegExp, string])[] = [
  [
    /unknown command.{0,3}eval/i,
    "it runs no scripts: if it is a Sentinel, make the client with the Sentinels' addresses and the master's name; else EVAL was renamed, " +
      "or a proxy refuses it",
  ],
  [
    /Could not find scripting engine/,
    "it runs no scripts: this Valkey was started without its Lua module. Install it (on Alpine the package valkey-lua), and load it",
  ],
  [
    /^MOVED /,
    "it is a node of a cluster: make the client for a cluster, as in new Cluster() or createCluster()",
  ],
  [/^READONLY /, "it is a replica: connect to its master"],
  [/NOAUTH /, "the server wants a password: give the Redis client one"],
  [FORBIDDEN, "docs/guide/servers.md lists the required rights"],
  [
    /unknown (?:redis )?command called from|Invalid command passed to \w+\.acl_check_cmd/i,
    "a command that the scripts need was renamed; docs/guide/servers.md lists the required commands",
  ],
];

/** How long a caller waits for an answer. */
export interface Bound {
  readonly timeoutMs: number;
  /** On the monotonic clock. */
  readonly endMs: number;
  /** The servers that have not answered, if several were asked. */
  readonly silent?: ReadonlySet<string> | undefined;
}

/** The state of a command when it fails. */
export interface Progress {
  /** How many of its earlier tries have an unknown outcome. */
  readonly doubtful: number;
  /** Whether this try may have run: it was sent, and not refused on the same connection. */
  isOpen: boolean;
}

/** Decides with which error a command fails, and whether it is sent again. */
export class CommandFailures {
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  /**
   * The error to fail with at once if sending the command again would be pointless.
   * @param divisible whether the caller can split a command on several keys
   */
  final(
    error: unknown,
    progress: Progress,
    { divisible = false }: { readonly divisible?: boolean },
  ): Error | undefined {
    if (error instanceof ClientClosedError) return error;
    if (error instanceof UnavailableError) return progress.doubtful > 0 ? withUnknownOutcome(error) : error;
    if (error instanceof DriverClosedError) return this.unavailable(error, { ...progress, isOpen: false });
    if (!(error instanceof ServerReplyError)) return undefined;
    const { code } = error;
    // Only the Redis client of a cluster follows a slot to its new server.
    const isAmiss = code === "MOVED" && this.#driver.traits.topology !== "cluster";
    const passes = PASSING.has(code) && !isAmiss && !(divisible && code === "TRYAGAIN");
    return passes ? undefined : this.unavailable(error, progress);
  }

  unavailable(error: unknown, { doubtful, isOpen }: Progress): UnavailableError {
    const outcomeUnknown = doubtful > 0 || isOpen;
    const cause = error instanceof ServerReplyError ? error : (this.#driver.outage ?? error);
    const why = withHint(toldOf(error, cause));
    const unavailable = new UnavailableError(this.#driver.traits.server, why, outcomeUnknown, { cause });
    if (error instanceof DriverClosedError) final.add(unavailable);
    return unavailable;
  }

  /**
   * The error of a call whose time is up before Redis has answered that the lock, or whatever the call wants, is taken.
   * @param wasSent whether any command was sent for the call; if so, all were answered or given up
   */
  untold(waitedMs: number, wasSent: boolean): UnavailableError {
    const why = wasSent
      ? "what it granted had expired or was lost before it could be used"
      : `it has answered neither this call nor one before it, in ${Math.round(waitedMs)} ms`;
    return this.unavailable(new Error(why), { doubtful: 0, isOpen: wasSent });
  }
}

/** The error of a call whose script reports that the server refused one of its commands; nothing was changed. */
export function refusedInScript(server: string, message: string): UnavailableError {
  const cause = new ServerReplyError(message);
  return new UnavailableError(server, withHint(cause.message), false, { cause });
}

function withHint(told: string): string {
  const [, hint] = HINTS.find(([words]) => words.test(told)) ?? [];
  return hint === undefined ? told : `${told} (${hint})`;
}

/** Whether a server has refused a command. */
export function wasRefused(error: unknown): boolean {
  return error instanceof UnavailableError && error.cause instanceof ServerReplyError;
}

/** Whether a server has refused a command because its user lacks a right. */
export function wasForbidden(error: unknown): boolean {
  return (
    error instanceof UnavailableError &&
    error.cause instanceof ServerReplyError &&
    FORBIDDEN.test(error.cause.message)
  );
}

/** Whether a command failed because its server did not answer, or asked to try later. */
export function wasInVain(error: unknown): boolean {
  if (!(error instanceof UnavailableError)) return false;
  const { cause } = error;
  return !(cause instanceof ServerReplyError) || PASSING.has(cause.code);
}

/** Errors of a Redis client that has been closed. Their `cause` need not show that: it may be the end of the last connection. */
const final = new WeakSet<UnavailableError>();

/** Whether the Redis client has been closed: it can send nothing more. */
export function isOver(error: UnavailableError): boolean {
  return final.has(error) || error.cause instanceof DriverClosedError;
}

/**
 * The error of a release that is repeated in the background. The release may still take effect, even if it was refused or never sent so
 * far, so its outcome is reported as unknown.
 */
export function stillOpen(error: unknown): unknown {
  if (!(error instanceof UnavailableError) || error.outcomeUnknown || isOver(error)) return error;
  const why = error.message.slice(`${error.server}: `.length);
  return new UnavailableError(error.server, `${why}; the release is retried in the background`, true, {
    cause: error.cause,
  });
}

export function tookTooLong({ name }: { readonly name: string }, { timeoutMs, silent }: Bound): Error {
  return new NoAnswerError(name, Math.round(timeoutMs), [...(silent ?? [])].join(", "));
}

class NoAnswerError extends Error {
  readonly timeoutMs: number;
  /** The servers that have not answered; "" if only one was asked, or if they are not known. */
  readonly servers: string;

  constructor(script: string, timeoutMs: number, servers: string) {
    super(`${servers} did not answer within ${timeoutMs} ms (${script})`.trimStart());
    this.timeoutMs = timeoutMs;
    this.servers = servers;
  }
}

/** The error for callers that have sent nothing themselves, so that their outcome is known. */
export function withKnownOutcome(error: UnavailableError): UnavailableError {
  const { server, message, cause, outcomeUnknown } = error;
  return outcomeUnknown
    ? new UnavailableError(server, message.slice(`${server}: `.length), false, { cause })
    : error;
}

/** This try did not run, but an earlier one may have. */
export function withUnknownOutcome({ server, message, cause }: UnavailableError): UnavailableError {
  return new UnavailableError(server, message.slice(`${server}: `.length), true, { cause });
}

/** @param cause why there is no connection, if known */
function toldOf(error: unknown, cause: unknown): string {
  if (cause === error) return textOf(error);
  if (!(error instanceof NoAnswerError)) return `${textOf(error)}: ${textOf(cause)}`;
  return `${error.servers} can not be reached (${textOf(cause)}), tried for ${error.timeoutMs} ms`.trimStart();
}

/** Node's error about several unreachable addresses has a code but no message. */
function textOf(error: unknown): string {
  if (!types.isNativeError(error)) return String(error);
  return error.message || ("code" in error ? String(error.code) : error.name);
}
