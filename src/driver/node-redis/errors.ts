import { types } from "node:util";
import { ServerReplyError } from "../driver.js";

/** Tells answers of the server, which become {@link ServerReplyError}, from failures on the way to it. */
export function fromNodeRedis(error: unknown): unknown {
  return isReply(error) ? new ServerReplyError(error.message, { cause: error }) : error;
}

const replies: ReadonlySet<string> = new Set(["SimpleError", "BlobError", "ErrorReply"]);

/**
 * By name, as there is no class that all versions share. A program that was minified has other names in it, hence the
 * second mark: of the errors that node-redis makes only answers begin with a word in capitals, those of Node have a code.
 */
function isReply(error: unknown): error is Error {
  if (!types.isNativeError(error)) return false;
  return (
    replies.has(error.constructor.name) || (!("code" in error) && /^[A-Z][A-Z0-9]+ /.test(error.message))
  );
}
