import { channelStarts } from "./channel-starts.js";

/**
 * Names of keys and channels, as Redisson derives them (class RedissonObject) from the name of an object
 * after the name mapper. The only test is whether the name contains a brace: such a name brings its own
 * cluster hash tag, any other becomes the tag.
 */
function prefixed(prefix: string, raw: string): string {
  return raw.includes("{") ? `${prefix}:${raw}` : `${prefix}:{${raw}}`;
}

/** The field of a read-write lock that is no holder: it says whether readers have it or a writer. */
export const MODE_FIELD = "mode";

/** Where the waiters of a mutex are told that it was freed. Source: RedissonLock.getChannelName. */
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

/** Where the waiters of a read-write lock are told that it was freed. Source: RedissonReadLock, RedissonWriteLock. */
export function rwChannel(raw: string): string {
  return prefixed(channelStarts.readWrite, raw);
}

/** What the keys of all read holds of a read-write lock begin with. Source: RedissonReadLock. */
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

/** The writer that waits for a read-write lock; holdfast's own. */
export function waitingWriterKey(raw: string): string {
  return prefixed("holdfast_rw_writer", raw);
}

/** The clients that wait for a lock, by their places; holdfast's own. */
export function waitingKey(raw: string): string {
  return prefixed("holdfast_waiting", raw);
}

/** The clients that wait for the write lock of a read-write lock, by their places; holdfast's own. */
export function writersQueueKey(raw: string): string {
  return prefixed("holdfast_waiting_writers", raw);
}

/** Until when a JVM believes each waiter of a fair lock alive. Source: RedissonFairLock. */
export function fairTimeoutsKey(raw: string): string {
  return prefixed("redisson_lock_timeout", raw);
}

/** Until when holdfast believes each waiter of a fair lock alive; its own. */
export function fairAliveKey(raw: string): string {
  return prefixed("holdfast_fair_alive", raw);
}

/** Where a JVM tells one waiter of a fair lock that it is its turn. Source: RedissonFairLock. */
export function waiterChannel(channel: string, holder: string): string {
  return `${channel}:${holder}`;
}

/** Where holdfast tells the waiters of one client that a lock was given to one of them; its own. */
export function clientChannel(channel: string, clientId: string): string {
  return `${channel}:${clientId}`;
}

/** Where the waiters of a semaphore are told how many permits there are. Source: RedissonSemaphore.getChannelName. */
export function semaphoreChannel(raw: string): string {
  return prefixed(channelStarts.semaphore, raw);
}

/** The permits of a permit-expirable semaphore that are out. Source: RedissonPermitExpirableSemaphore. */
export function permitLeasesKey(raw: string): string {
  return raw.includes("{") ? `${raw}:timeout` : `{${raw}}:timeout`;
}

/** The key that names the owner for which permits are saved up; holdfast's own. */
export function savedPermitsKey(raw: string): string {
  return prefixed("holdfast_sc_saved", raw);
}

/** Where the waiters of a latch are told that it is open. In braces, whatever the name. Source: RedissonCountDownLatch. */
export function latchChannel(raw: string): string {
  return `${channelStarts.latch}{${raw}}`;
}

/** The prefix of the keys of clients' requests about a value without an owner; holdfast's own. */
export function requestsPrefix(raw: string): string {
  return prefixed("holdfast_req", raw);
}

/** The key of the answers to one client's requests about a value without an owner. */
export function requestsKey(raw: string, clientId: string): string {
  return `${requestsPrefix(raw)}:${clientId}`;
}

/** The clients of a group that tell that they are there; holdfast's own. */
export function presenceClientsKey(group: string): string {
  return `holdfast_clients:{${group}}`;
}

/** What one client of a group tells of itself; holdfast's own. */
export function presenceClientKey(group: string, clientId: string): string {
  return `holdfast_client:{${group}}:${clientId}`;
}

/** The field that stands for a holder in a lock's hash. Source: RedissonBaseLock.getLockName. */
export function holderField(clientId: string, threadId: number): string {
  return `${clientId}:${threadId}`;
}

/** What the field of a lock that is kept after its release has behind the client id: a thread id that no thread has; holdfast's own. */
export const KEPT_ENDING = ":0";

/** The field that stays in the place of a holder's while a lock is kept after its release. */
export function keptField(holder: string): string {
  return holder.slice(0, holder.lastIndexOf(":")) + KEPT_ENDING;
}

/** What the field of a lock that is given to a client, but not taken yet, has behind the client id; holdfast's own. */
export const NEXT_ENDING = ":next";

/**
 * The field of a lock that is given to a client which waits, until that has taken it.
 * @param fieldEnding what the holder's field has behind it
 */
export const nextField = (clientId: string, fieldEnding = ""): string => clientId + NEXT_ENDING + fieldEnding;

/** Behind the holder of a write lock. No other holder ends so. */
export const WRITE_ENDING = ":write";
