import { types } from "node:util";
import { DriverClosedError, ServerReplyError } from "../driver.js";

/** How GLIDE words an answer whose first word it knows, `ERR` among them, */
const KNOWN = /^An error was signalled by the server:? ?- (\w+)(?:: (.*))?$/s;
/** and any other. */
const OTHER = /^([A-Z][A-Z0-9]*): (.*)$/s;

/** The first words of answers that GLIDE does not name by them. It names `TRYAGAIN` TryAgain, and `NOSCRIPT` NoScriptError. */
const codes: Readonly<Record<string, string>> = {
  ResponseError: "ERR",
  PermissionDenied: "NOPERM",
  BusyLoadingError: "LOADING",
};

const ENDED = "the GLIDE client has ended, by close()";

/**
 * Tells answers of the server, which become {@link ServerReplyError} and get their own words back, and what was not sent as
 * the client has ended, from failures on the way to the server.
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

/** The same for the subscriber, which sends no scripts: any `ClosingError` means that it has ended. */
export function fromSubscriber(error: unknown): unknown {
  const ended = types.isNativeError(error) && error.name === "ClosingError";
  return ended ? new DriverClosedError(ENDED) : fromGlide(error);
}
