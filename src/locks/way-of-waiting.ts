import type { WaitEnd } from "../events.js";
import type { Hold, Telling } from "../threads/stay.js";

/** A hold that a call was given while it slept. */
export interface TakenHold {
  readonly hold: Hold;
  readonly by: WaitEnd;
}

/**
 * How a call waits for the first hold of its stay: in its client's line, spinning, or in the queue of a fair lock. `asks` decides when the
 * call asks; otherwise it sleeps.
 * @see docs/internals/states.md#one-acquisition
 */
export interface WayOfWaiting extends Telling {
  /** Whether the call asks again under the same field after it has released a lock that came too late. */
  readonly asksAgain: boolean;
  /** How many calls of this client are before a call that has just begun to wait; 0 if each call asks for itself. */
  readonly behind: number;
  /** Whether the call asks now. From then on, new messages count for the next question. @returns why it asks; undefined: it sleeps */
  asks(): WaitEnd | undefined;
  /** Redis has refused. @returns false if the call must wait on under another field */
  refused(): boolean;
  /** The call got no answer: an error; or it was cancelled while it asked; or (`undefined`) its time was up before it was sent. */
  failed(error: unknown): void;
  /** Sleeps until there is something to ask or to take. `awake` may be called within this call, or by the waker. */
  sleep(awake: () => void): void;
  /** The hold that was given while the call slept. Checked each time it wakes. */
  taken(): TakenHold | undefined;
  /** The time is up, and the lock is taken. */
  over(): void;
  /** The call waits no more. @param byAnswer whether Redis has answered that it has the lock */
  leave(byAnswer: boolean): void;
}
