/** The prefixes of the channels for locks, semaphores and latches. */
export const channelStarts = {
  lock: "redisson_lock__channel",
  readWrite: "redisson_rwlock",
  semaphore: "redisson_sc",
  latch: "redisson_countdownlatch__channel__",
} as const;
