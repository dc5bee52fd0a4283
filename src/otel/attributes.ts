/** The names of the attributes of metrics and spans. They are public: docs/guide/opentelemetry.md lists them. */
export const LOCK_NAME = "holdfast.lock.name";
export const LOCK_KIND = "holdfast.lock.kind";
export const OUTCOME = "holdfast.outcome";
export const VIA = "holdfast.via";
export const END = "holdfast.end";
export const LOSS_REASON = "holdfast.loss.reason";
export const COMMAND = "holdfast.command";
export const COMMAND_OUTCOME = "holdfast.command.outcome";
export const ERROR_TYPE = "error.type";
export const WAITED_MS = "holdfast.waited_ms";
export const ATTEMPTS = "holdfast.attempts";
export const HOLDER = "holdfast.holder";
export const HOLD_COUNT = "holdfast.hold.count";
export const TOKEN = "holdfast.token";
export const PERMITS = "holdfast.permits";
export const SEEN_HOLDER = "holdfast.seen_holder";
export const BEHIND = "holdfast.behind";
export const NOTE = "holdfast.note";
export const CLIENT_ID = "holdfast.client.id";
export const SERVER = "holdfast.server";

/** For a thrown value that is not an error, by the conventions of OpenTelemetry. */
const OTHER = "_OTHER";

interface ErrorLike {
  readonly code?: unknown;
  readonly name?: unknown;
  readonly message?: unknown;
}

/** The `code` of an error, or else its name: few values, as `error.type` needs. */
export function errorType(error: unknown): string {
  const { code, name } = (error ?? {}) as ErrorLike;
  if (typeof code === "string") return code;
  return typeof name === "string" ? name : OTHER;
}

/** The text for the status of a span after an error. */
export function errorMessage(error: unknown): string {
  const { message } = (error ?? {}) as ErrorLike;
  return typeof message === "string" ? message : String(error);
}
