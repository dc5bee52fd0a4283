import { ServerReplyError } from "../../../src/driver/driver.js";

/** Tells answers of the server, which become {@link ServerReplyError}, from failures on the way to it. */
export function fromPlain(error: unknown): unknown {
  const isReply = error instanceof Error && error.constructor.name === "PlainReplyError";
  return isReply ? new ServerReplyError(error.message, { cause: error }) : error;
}
