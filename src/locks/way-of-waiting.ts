import type { WaitEnd } from "../events.js";
import type { Hold, Telling } from "../threads/stay.js";

/** A hold that a call was given while it slept. */
export interface TakenHold {
  readonly hold: Hold;
  readonly by: WaitEnd;
}

/**
 * How a call waits for the first hold of its stay: in line with its client's other calls, by polling, or in the queue of a fair lock.
 * `asks` decides when the call asks; otherwise it sleeps.
 * @see docs/internals/states.md#one-acquisition
 */
export interface WayOfWaiting extends Telling {
  /** Whether the call asks again under the same field after it has released a lock that came too late. */
  readonly asksAgain: boolean;
  /** How many calls of this client are before a call that has just begun to wait; 0 if each call asks for itself. */
  readonly behind: number;
  /** Whether the call asks Redis now. Messages that come later count for the next attempt. @returns why it asks; undefined: it sleeps */
  asks(): WaitEnd | undefined;
  /** Redis has refused the lock. @returns false if the call must continue its wait under another field */
  refused(): boolean;
  /** The attempt got no answer. @param error why; undefined if the call's time was up before its attempt was sent */
  failed(error: unknown): void;
  /**
   * Sleeps until the call should ask, or can take a hold that was given to it. `awake` may be called within `sleep`, or by the code that
   * wakes the call.
   */
  sleep(awake: () => void): void;
  /** The hold that was given while the call slept. Checked each time it wakes. */
  taken(): TakenHold | undefined;
  /** The call's time is up, and the lock is known to be taken. */
  over(): void;
  /** The call no longer waits. @param byAnswer whether Redis has answered that the call has the lock */
  leave(byAnswer: boolean): void;
}
