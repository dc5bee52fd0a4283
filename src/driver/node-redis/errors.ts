import { types } from "node:util";
import { ServerReplyError } from "../driver.js";

/** Distinguishes answers of the server, which become {@link ServerReplyError}, from failures on the way to the server. */
export function fromNodeRedis(error: unknown): unknown {
  return isReply(error) ? new ServerReplyError(error.message, { cause: error }) : error;
}

const replies: ReadonlySet<string> = new Set(["SimpleError", "BlobError", "ErrorReply"]);

/**
 * The versions do not share a class, so an error is recognised by its name. A minified program has other names. So a second mark is
 * checked: of node-redis's errors only answers begin with a word in capitals, and Node's errors have a code.
 */
function isReply(error: unknown): error is Error {
  if (!types.isNativeError(error)) return false;
  return (
    replies.has(error.constructor.name) || (!("code" in error) && /^[A-Z][A-Z0-9]+ /.test(error.message))
  );
}
