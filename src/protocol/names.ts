import { channelStarts } from "./channel-starts.js";

/**
 * The names of keys and channels, as Redisson (class RedissonObject) derives them from an object's name to which the name mapper was
 * applied. Redisson only tests whether the name contains a brace. A name with a brace has its own cluster hash tag; any other name becomes
 * the tag. Redisson has no key or channel that is called holdfast's own here.
 */
function prefixed(prefix: string, raw: string): string {
  return raw.includes("{") ? `${prefix}:${raw}` : `${prefix}:{${raw}}`;
}

/** The only field of a read-write lock that is not a holder: its mode, `read` or `write`. */
export const MODE_FIELD = "mode";

/** The channel on which the waiters of a mutex hear that it was freed. Source: RedissonLock.getChannelName. */
export function lockChannel(raw: string): string {
  return prefixed(channelStarts.lock, raw);
}

/** The queue of a fair lock. Source: RedissonFairLock. */
export function fairQueueKey(raw: string): string {
  return prefixed("redisson_lock_queue", raw);
}

/** The counter of a fenced lock. Source: RedissonFencedLock. */
export function fencingTokenKey(raw: string): string {
  return prefixed("redisson_lock_token", raw);
}

/** The channel on which the waiters of a read-write lock hear that it was freed. Source: RedissonReadLock, RedissonWriteLock. */
export function rwChannel(raw: string): string {
  return prefixed(channelStarts.readWrite, raw);
}

/** The prefix of the keys of all read holds of a read-write lock. Source: RedissonReadLock. */
export function readHoldPrefix(raw: string): string {
  return raw.includes("{") ? raw : `{${raw}}`;
}

/**
 * The key that lives as long as one hold of a reader. Source: RedissonReadLock.
 * @param index from 1 to the hold count
 */
export function readHoldKey(raw: string, holder: string, index: number): string {
  return `${readHoldPrefix(raw)}:${holder}:rwlock_timeout:${index}`;
}

/** The key of the writer that waits for a read-write lock; holdfast's own. */
export function waitingWriterKey(raw: string): string {
  return prefixed("holdfast_rw_writer", raw);
}

/** The key of the clients that wait for a lock, by place; holdfast's own. */
export function waitingKey(raw: string): string {
  return prefixed("holdfast_waiting", raw);
}

/** The key of the clients that wait for the write lock of a read-write lock, by place; holdfast's own. */
export function writersQueueKey(raw: string): string {
  return prefixed("holdfast_waiting_writers", raw);
}

/** The key of the times until which JVMs consider each waiter of a fair lock alive. Source: RedissonFairLock. */
export function fairTimeoutsKey(raw: string): string {
  return prefixed("redisson_lock_timeout", raw);
}

/** The key of the times until which holdfast considers each of its waiters of a fair lock alive; holdfast's own. */
export function fairAliveKey(raw: string): string {
  return prefixed("holdfast_fair_alive", raw);
}

/** The channel on which a JVM tells one waiter of a fair lock that its turn has come. Source: RedissonFairLock. */
export function waiterChannel(channel: string, holder: string): string {
  return `${channel}:${holder}`;
}

/** The channel on which holdfast tells the waiters of one client that a lock was granted to one of them; holdfast's own. */
export function clientChannel(channel: string, clientId: string): string {
  return `${channel}:${clientId}`;
}

/** The channel on which the waiters of a semaphore hear how many permits there are. Source: RedissonSemaphore.getChannelName. */
export function semaphoreChannel(raw: string): string {
  return prefixed(channelStarts.semaphore, raw);
}

/** The key of the taken permits of a permit-expirable semaphore. Source: RedissonPermitExpirableSemaphore. */
export function permitLeasesKey(raw: string): string {
  return raw.includes("{") ? `${raw}:timeout` : `{${raw}}:timeout`;
}

/** The key with the owner that permits are saved up for; holdfast's own. */
export function savedPermitsKey(raw: string): string {
  return prefixed("holdfast_sc_saved", raw);
}

/** The channel on which the waiters of a latch hear that it is open. Always in braces. Source: RedissonCountDownLatch. */
export function latchChannel(raw: string): string {
  return `${channelStarts.latch}{${raw}}`;
}

/** The prefix of the keys in which holdfast remembers requests that changed a value without a holder, such as a semaphore. */
export function requestsPrefix(raw: string): string {
  return prefixed("holdfast_req", raw);
}

/** The key of the answers to one client's requests about a value without an owner. */
export function requestsKey(raw: string, clientId: string): string {
  return `${requestsPrefix(raw)}:${clientId}`;
}

/** The key of the present clients of a group; holdfast's own. */
export function presenceClientsKey(group: string): string {
  return `holdfast_clients:{${group}}`;
}

/** The key of the report of one client of a group; holdfast's own. */
export function presenceClientKey(group: string, clientId: string): string {
  return `holdfast_client:{${group}}:${clientId}`;
}

/** The field of a holder in a lock's hash. Source: RedissonBaseLock.getLockName. */
export function holderField(clientId: string, threadId: number): string {
  return `${clientId}:${threadId}`;
}

/** The suffix, after the client id, of the field of a kept lock: a thread id that no thread has; holdfast's own. */
export const KEPT_ENDING = ":0";

/** The field that replaces a holder's field while a lock is kept after its release. */
export function keptField(holder: string): string {
  return holder.slice(0, holder.lastIndexOf(":")) + KEPT_ENDING;
}

/** The suffix, after the client id, of the field of a lock that is granted to a client but not taken yet; holdfast's own. */
export const NEXT_ENDING = ":next";

/**
 * The field of a lock that is granted to a waiting client, until the client takes it.
 * @param fieldEnding the suffix of the holder's field
 */
export const nextField = (clientId: string, fieldEnding = ""): string => clientId + NEXT_ENDING + fieldEnding;

/** The suffix of the holder of a write lock. No other holder has this suffix. */
export const WRITE_ENDING = ":write";
