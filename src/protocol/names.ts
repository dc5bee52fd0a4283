/**
 * Names of keys and channels, as Redisson derives them (class RedissonObject) from the name of an object
 * after the name mapper. The only test is whether the name contains a brace: such a name brings its own
 * cluster hash tag, any other becomes the tag.
 */
function prefixed(prefix: string, raw: string): string {
  return raw.includes("{") ? `${prefix}:${raw}` : `${prefix}:{${raw}}`;
}

/** Where the waiters of a mutex are told that it was freed. Source: RedissonLock.getChannelName. */
export function lockChannel(raw: string): string {
  return prefixed("redisson_lock__channel", raw);
}

/** The queue of a fair lock. Source: RedissonFairLock. */
export function fairQueueKey(raw: string): string {
  return prefixed("redisson_lock_queue", raw);
}

/** The counter of a fenced lock. Source: RedissonFencedLock. */
export function fencingTokenKey(raw: string): string {
  return prefixed("redisson_lock_token", raw);
}

/** The field that stands for a holder in a lock's hash. Source: RedissonBaseLock.getLockName. */
export function holderField(clientId: string, threadId: number): string {
  return `${clientId}:${threadId}`;
}
