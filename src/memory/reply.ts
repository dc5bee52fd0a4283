import { ServerReplyError } from "../driver/driver.js";
import type { RawReply } from "../protocol/script-call.js";
import { textOfBytes } from "./byte-strings.js";

/** The answer of a command or script of the embedded server. Strings are byte strings. */
export type Reply = string | number | null | Status | ErrorReply | readonly Reply[];

/** A status reply: `OK`, or the name of a type. Lua sees a table with the field `ok`. */
export class Status {
  constructor(readonly text: string) {}
}

/** An error reply. Lua sees a table with the field `err`. */
export class ErrorReply {
  constructor(readonly message: string) {}
}

export const OK: Status = new Status("OK");

/** Thrown by a command and answered as an {@link ErrorReply}. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}

/** The reply as the user of a Redis client sees it: text for bytes, a thrown error for a refusal. */
export function rawReply(reply: Reply): RawReply {
  if (typeof reply === "string") return textOfBytes(reply);
  if (reply === null || typeof reply === "number") return reply;
  if (reply instanceof Status) return textOfBytes(reply.text);
  if (reply instanceof ErrorReply) throw new ServerReplyError(textOfBytes(reply.message));
  return reply.map(rawReply);
}
