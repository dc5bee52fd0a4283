import type { WaitLine } from "../runtime/wait-line.js";
import type { LockIdentity } from "./lock-kind.js";

/**
 * To be called when the lock is about to be freed although calls of this client may wait.
 * @see docs/internals/states.md#the-line
 */
export function freeing(lock: LockIdentity): void {
  lineOf(lock)?.freeing();
}

/** What has become of the release nobody knows. */
export function notFreed(lock: LockIdentity): void {
  lineOf(lock)?.notFreed();
}

/** The lock was freed: whoever waits elsewhere has a turn before the calls of this client. */
export function freed(lock: LockIdentity, heard: number | undefined): void {
  lineOf(lock)?.freed(lock.client.knowsListeners ? heard : undefined);
}

/** Whether a lock passes on inside a client. */
export function handsOver({ client, kind }: LockIdentity): boolean {
  return kind.handsOver && client.settings.handOff !== false;
}

/** Those who wait here for a lock that is handed over; undefined for none. */
export function lineOf(lock: LockIdentity): WaitLine | undefined {
  return handsOver(lock) ? lock.client.lines.of(lock.id) : undefined;
}
