import type { WaitEnd } from "../events.js";
import type { Hold, Telling } from "../threads/stay.js";

/** What a call was given while it slept. */
export interface TakenHold {
  readonly hold: Hold;
  readonly by: WaitEnd;
}

/**
 * How a call waits for the first hold of its stay: in the line of its client, spinning, or in the queue of a fair lock. The call asks
 * when this says so, and sleeps otherwise.
 * @see docs/internals/states.md#one-acquisition
 */
export interface WayOfWaiting extends Telling {
  /** Whether the call asks again under the same field after it has given back what it got too late. */
  readonly asksAgain: boolean;
  /** How many calls of this client stand before one that has just begun to wait; 0 where it asks by itself. */
  readonly behind: number;
  /** Whether the call is to ask now; what is heard from then on is news. @returns why it asks; undefined: it is to sleep */
  asks(): WaitEnd | undefined;
  /** Redis has refused. @returns false when the call has to wait on under another field */
  refused(): boolean;
  /** Redis could not be asked, or was not: the call was cancelled while it asked, or (`undefined`) its time was up before it was sent. */
  failed(error: unknown): void;
  /** Sleeps until there is something to ask or to take. `awake` may be called within this call, or by the waker. */
  sleep(awake: () => void): void;
  /** To be asked each time it wakes. */
  taken(): TakenHold | undefined;
  /** The time is up, and the lock is taken. */
  over(): void;
  /** The call waits no more. @param byAnswer whether Redis has answered that it has the lock */
  leave(byAnswer: boolean): void;
}
