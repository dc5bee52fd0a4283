/**
 * What is published on the channels of Redisson: the decimal text of an integer, nothing else. Source:
 * LockPubSub. Any other payload makes a JVM's listener throw, so it is never published there and never acted on.
 */
const UNLOCKED = "0";
const WRITE_UNLOCKED = "1";

/** True for the messages that tell the waiters of a lock to try again. */
export function isWakeUp(message: string): boolean {
  return message === UNLOCKED || message === WRITE_UNLOCKED;
}

/** What the waiters of one client are told about a fair lock, on a channel of holdfast's own. */
export interface TurnMessage {
  /** Names the waiter. */
  readonly threadId: string;
  /** Whether the lock was given to it; false: it is to ask. */
  readonly given: boolean;
}

const TURN = /^(\d+):(\d+)$/;

/** Reads `<thread id>:<epoch milliseconds until which the lock was given>`, with 0 for a waiter that is to ask. */
export function turnMessage(message: string): TurnMessage | undefined {
  const [, threadId, untilMs] = TURN.exec(message) ?? [];
  return threadId === undefined ? undefined : { threadId, given: untilMs !== UNLOCKED };
}

/** What a client that waits in a lock's queue is told: to ask. */
export const YOUR_TURN = "turn";
/** That it is the first now, as the one before it was given the lock. */
export const YOU_ARE_NEXT = "next";
/** Of permits: that it is the first now, and expects releases that do not look into the queue. */
export const YOU_ARE_FIRST = "first";
/** What a client is told that has the lock, if calls of it wait for it as well: another client waits in the queue. */
export const LOOK = "look";

/** What a latch's waiters are told. Source: CountDownLatchPubSub. */
export const LATCH_OPENED = "0";
export const LATCH_CLOSED = "1";

/** True for the messages that tell the waiters of a semaphore how many permits there are. Source: SemaphorePubSub. */
export function tellsPermits(message: string): boolean {
  return /^[1-9]\d*$/.test(message);
}
