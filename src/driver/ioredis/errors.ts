import { types } from "node:util";
import { ServerReplyError } from "../driver.js";

/** Distinguishes answers of the server, which become {@link ServerReplyError}, from failures on the way to the server. */
export function fromIoredis(error: unknown): unknown {
  return isReply(error) ? new ServerReplyError(error.message, { cause: error }) : error;
}

/**
 * The versions do not share a class, so an error is recognised by its name. A minified program has other names. So a second mark is
 * checked: ioredis notes the command only on answers and on aborted commands, and only answers begin with a word in capitals.
 */
function isReply(error: unknown): error is Error {
  if (!types.isNativeError(error)) return false;
  return error.name === "ReplyError" || ("command" in error && /^[A-Z][A-Z0-9]+ /.test(error.message));
}

/**
 * Whether ioredis has given up commands because its connections failed too often. If its own `INFO` is among these commands, ioredis
 * reports an error of the connection. That error does not say why the connection is missing.
 */
export function isGivenUp({ message }: Error): boolean {
  return message.startsWith("Reached the max retries per request limit");
}
