/** What the channels begin with on which something is told about a lock, a semaphore or a latch. */
export const channelStarts = {
  lock: "redisson_lock__channel",
  readWrite: "redisson_rwlock",
  semaphore: "redisson_sc",
  latch: "redisson_countdownlatch__channel__",
} as const;
