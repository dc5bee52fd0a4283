/**
 * The messages on Redisson's channels are integers in decimal text. Source: LockPubSub. Any other message makes a JVM's listener throw, so
 * holdfast never publishes one on these channels, and ignores any that another program publishes.
 */
const UNLOCKED = "0";
const WRITE_UNLOCKED = "1";

/** True for the messages that tell the waiters of a lock to try again. */
export function isWakeUp(message: string): boolean {
  return message === UNLOCKED || message === WRITE_UNLOCKED;
}

/** A message about a fair lock to the waiters of one client, on holdfast's own channel. */
export interface TurnMessage {
  /** Names the waiter. */
  readonly threadId: string;
  /** Whether the lock was granted to the waiter; false: the waiter should ask. */
  readonly given: boolean;
}

const TURN = /^(\d+):(\d+)$/;

/** Reads `<thread id>:<end of the grant in epoch milliseconds>`, with 0 for a waiter that should ask. */
export function turnMessage(message: string): TurnMessage | undefined {
  const [, threadId, untilMs] = TURN.exec(message) ?? [];
  return threadId === undefined ? undefined : { threadId, given: untilMs !== UNLOCKED };
}

/** Tells a client that waits in a lock's queue to ask. */
export const YOUR_TURN = "turn";
/** Tells a client that it is now the first, because the lock was granted to the client before it. */
export const YOU_ARE_NEXT = "next";
/** For permits: tells a client that it is now the first, and must listen for releases that do not look into the queue. */
export const YOU_ARE_FIRST = "first";
/** Tells the client that has the lock that another client waits in the queue, so that the holder's release looks there. */
export const LOOK = "look";

/** The messages to a latch's waiters. Source: CountDownLatchPubSub. */
export const LATCH_OPENED = "0";
export const LATCH_CLOSED = "1";

/** True for the messages that tell the waiters of a semaphore how many permits there are. Source: SemaphorePubSub. */
export function tellsPermits(message: string): boolean {
  return /^[1-9]\d*$/.test(message);
}
