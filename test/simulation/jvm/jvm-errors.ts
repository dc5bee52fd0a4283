/** Redisson's IllegalMonitorStateException: the thread does not hold the lock, or may not enter it again. */
export class JvmMonitorError extends Error {
  override readonly name = "JvmMonitorError";
}

/** Redisson's IllegalArgumentException for permits that are not acquired, or not any more. */
export class JvmPermitError extends Error {
  override readonly name = "JvmPermitError";
}

/** Redisson's RedisTimeoutException: no answer within `timeout`. What was sent may still take effect. */
export class JvmTimeoutError extends Error {
  override readonly name = "JvmTimeoutError";
}

/** Java's InterruptedException: the thread was interrupted while it waited. */
export class JvmInterruptedError extends Error {
  override readonly name = "JvmInterruptedError";
}

/** Redisson's RedissonShutdownException. */
export class JvmShutdownError extends Error {
  override readonly name = "JvmShutdownError";
}
