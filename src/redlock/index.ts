export type { RedlockClient } from "./clients.js";
export {
  type ClientExecutionResult,
  ExecutionError,
  type ExecutionResult,
  type ExecutionStats,
  LockError,
  ResourceLockedError,
} from "./errors.js";
export { RedlockLock as Lock } from "./lock.js";
// Also exported by name, like @sesamecare-oss/redlock.
export { Redlock, Redlock as default } from "./redlock.js";
export type { RedlockAbortSignal } from "./routine.js";
export type { Settings } from "./settings.js";
