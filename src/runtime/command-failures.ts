import { type Driver, DriverClosedError, ServerReplyError } from "../driver/driver.js";
import { ClientClosedError, UnavailableError } from "../errors.js";

/** Errors of a server that is starting, failing over or busy, or gives a slot away: soon it, or another, may answer. */
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

const NO_SCRIPTS =
  "it runs no scripts; if it is a Sentinel, make the client with the Sentinels' addresses and the master's name";

/** How long a caller waits for an answer. */
export interface Bound {
  readonly timeoutMs: number;
  /** On the monotonic clock. */
  readonly endMs: number;
}

/** What the failures of commands come to. */
export class CommandFailures {
  readonly #driver: Driver;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  /**
   * What to throw at once for an error after which it would be pointless to send again.
   * @param divisible whether the caller can send in parts what is about several keys
   */
  final(
    error: unknown,
    sendings: number,
    { divisible = false }: { readonly divisible?: boolean },
  ): Error | undefined {
    if (error instanceof UnavailableError || error instanceof ClientClosedError) return error;
    // The last of these was not sent.
    if (error instanceof DriverClosedError) return this.unavailable(error, sendings - 1);
    if (!(error instanceof ServerReplyError)) return undefined;
    const passes = PASSING.has(error.code) && !(divisible && error.code === "TRYAGAIN");
    return passes ? undefined : this.unavailable(error, sendings);
  }

  /** @param sendings how often the command may have reached the server */
  unavailable(error: unknown, sendings: number): UnavailableError {
    const refused = error instanceof ServerReplyError;
    const outcomeUnknown = sendings > (refused ? 1 : 0);
    const cause = refused ? error : (this.#driver.outage ?? error);
    const told = cause === error ? textOf(error) : `${textOf(error)}: ${textOf(cause)}`;
    const why = /unknown command.{0,3}eval/i.test(told) ? `${told} (${NO_SCRIPTS})` : told;
    return new UnavailableError(this.#driver.traits.server, why, outcomeUnknown, { cause });
  }
}

export function tookTooLong({ name }: { readonly name: string }, { timeoutMs }: Bound): Error {
  return new Error(`${name} was not answered within ${Math.round(timeoutMs)} ms`);
}

/** Node's error about several addresses that can not be reached has a code, but no message. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || ("code" in error ? String(error.code) : error.name);
}
