/**
 * What is published on the channels of Redisson: the decimal text of an integer, nothing else. Source:
 * LockPubSub. Any other payload makes a JVM's listener throw, so it is never published and never acted on.
 */
export const UNLOCKED = "0";

/** True for the message that tells the waiters of a mutex to try again. */
export function isUnlock(message: string): boolean {
  return message === UNLOCKED;
}
