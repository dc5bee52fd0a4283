import { InvalidNameError, ServerReplyError, UnavailableError, WrongTypeError } from "holdfast";
import { exitCodes } from "./exit-codes.js";
import { Failure } from "./failure.js";

/** What an error of holdfast or of the Redis client means for the one who typed the command. All else is a bug of ours. */
export function failureOf(error: unknown): Failure {
  const { message } = error instanceof Error ? error : { message: String(error) };
  const as = (exitCode: number, text = message) => new Failure(exitCode, text, { cause: error });
  if (lacksRight(error)) return as(exitCodes.noRight);
  if (error instanceof WrongTypeError) return as(exitCodes.wrongType);
  if (error instanceof InvalidNameError) return as(exitCodes.usage);
  if (error instanceof UnavailableError && isInCluster(message))
    return as(
      exitCodes.unavailable,
      `${error.server} is a node of a cluster: --url redis+cluster://${error.server}`,
    );
  if (error instanceof UnavailableError || error instanceof ServerReplyError)
    return as(exitCodes.unavailable);
  const stack = error instanceof Error ? (error.stack ?? message) : message;
  return as(exitCodes.software, `this is a bug of holdfast, please report it:\n${stack}`);
}

/** A server on its own answers so for keys that other nodes have. */
function isInCluster(message: string): boolean {
  return /\b(?:MOVED|ASK) \d+ /.test(message) || message.includes("it is a node of a cluster");
}

/** Whether Redis has refused something that the user has no right to; a script's refusal is worded otherwise than a command's. */
export function lacksRight(error: unknown): boolean {
  return error instanceof Error && /NOPERM|can't run this command|ACL failure in script/.test(error.message);
}
