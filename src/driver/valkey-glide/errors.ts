import { types } from "node:util";
import { DriverClosedError, ServerReplyError } from "../driver.js";

/** GLIDE's wording of an answer whose first word it knows, for example `ERR`. */
const KNOWN = /^An error was signalled by the server:? ?- (\w+)(?:: (.*))?$/s;
/** GLIDE's wording of any other answer. */
const OTHER = /^([A-Z][A-Z0-9]*): (.*)$/s;

/** The first words of answers that GLIDE replaces with its own names. For `TRYAGAIN` it says TryAgain, for `NOSCRIPT` NoScriptError. */
const codes: Readonly<Record<string, string>> = {
  ResponseError: "ERR",
  PermissionDenied: "NOPERM",
  BusyLoadingError: "LOADING",
};

const ENDED = "the GLIDE client has ended, by close()";

/**
 * Distinguishes three errors: an answer of the server, which becomes a {@link ServerReplyError} with its own words; a call that was not
 * sent because the client has ended; a failure on the way to the server.
 */
export function fromGlide(error: unknown): unknown {
  if (!types.isNativeError(error) || error instanceof ServerReplyError) return error;
  if (error.message.startsWith("Unable to execute requests; the client is closed"))
    return new DriverClosedError(ENDED);
  const known = KNOWN.exec(error.message);
  const [, word = "", detail = ""] = known ?? OTHER.exec(error.message) ?? [];
  if (word === "") return error;
  const code = known === null ? word : (codes[word] ?? word.replace(/Error$/, "").toUpperCase());
  return new ServerReplyError(`${code} ${detail}`.trimEnd(), { cause: error });
}

/** As {@link fromGlide}, for the subscriber. It sends no scripts, so any `ClosingError` means that it has ended. */
export function fromSubscriber(error: unknown): unknown {
  const ended = types.isNativeError(error) && error.name === "ClosingError";
  return ended ? new DriverClosedError(ENDED) : fromGlide(error);
}
