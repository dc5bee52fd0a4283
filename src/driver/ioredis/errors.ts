import { types } from "node:util";
import { ServerReplyError } from "../driver.js";

/** Tells answers of the server, which become {@link ServerReplyError}, from failures on the way to it. */
export function fromIoredis(error: unknown): unknown {
  return isReply(error) ? new ServerReplyError(error.message, { cause: error }) : error;
}

/**
 * By name, as there is no class that all versions share. A program that was minified has other names in it, hence
 * the second mark: ioredis notes the command only on answers and on commands that it aborted, and of these only
 * answers begin with a word in capitals.
 */
function isReply(error: unknown): error is Error {
  if (!types.isNativeError(error)) return false;
  return error.name === "ReplyError" || ("command" in error && /^[A-Z][A-Z0-9]+ /.test(error.message));
}

/**
 * Whether ioredis has given up commands since its connections failed too often. It tells of that as of an error of the connection where its
 * own `INFO` is among them, but that says nothing about why there is no connection.
 */
export function isGivenUp({ message }: Error): boolean {
  return message.startsWith("Reached the max retries per request limit");
}
