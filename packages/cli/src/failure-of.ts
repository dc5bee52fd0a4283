import { InvalidNameError, ServerReplyError, UnavailableError, WrongTypeError } from "holdfast";
import { exitCodes } from "./exit-codes.js";
import { Failure } from "./failure.js";

/** Explains an error of holdfast or of the Redis client to the user of the command line. Any other error is a bug of holdfast. */
export function failureOf(error: unknown): Failure {
  const { message } = error instanceof Error ? error : { message: String(error) };
  const as = (exitCode: number, text = message) => new Failure(exitCode, text, { cause: error });
  if (lacksRight(error)) return as(exitCodes.noRight);
  if (error instanceof WrongTypeError) return as(exitCodes.wrongType);
  if (error instanceof InvalidNameError) return as(exitCodes.usage);
  if (error instanceof UnavailableError && isMoved(error)) return as(exitCodes.unavailable, toCluster(error));
  if (error instanceof UnavailableError || error instanceof ServerReplyError)
    return as(exitCodes.unavailable);
  const stack = error instanceof Error ? (error.stack ?? message) : message;
  return as(exitCodes.software, `this is a bug of holdfast, please report it:\n${stack}`);
}

/** Whether the user addressed one server, and that server is a node of a cluster. */
function isMoved({ cause }: UnavailableError): boolean {
  return cause instanceof ServerReplyError && cause.code === "MOVED";
}

/** Replaces the library's message, which is for programs, by the option that the user should give. */
function toCluster({ server }: UnavailableError): string {
  const url = server.replace(/^(rediss?):\/\/([^/]*).*$/, "$1+cluster://$2");
  return `${server}: it is a node of a cluster: address the cluster, as in --url ${url}`;
}

/**
 * Whether Redis has refused a command because the user lacks a right. The refusal of a script has other words than the refusal of a
 * command.
 */
export function lacksRight(error: unknown): boolean {
  return error instanceof Error && /NOPERM|can't run this command|ACL failure in script/.test(error.message);
}
