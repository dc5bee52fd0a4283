import type { WaitLine } from "../runtime/wait-line.js";
import type { LockIdentity } from "./lock-kind.js";

/**
 * To be called when the lock is about to be freed although calls of this client may wait.
 * @see docs/internals/states.md#the-line
 */
export function freeing(lock: LockIdentity): void {
  lineOf(lock)?.freeing();
}

/** The release has freed nothing, or was not answered. If a message was taken for its own, the line asks again. */
export function notFreed(lock: LockIdentity): void {
  lineOf(lock)?.notFreed();
}

/**
 * The lock was freed: the line leaves it to other clients for a while, before its head asks. See
 * docs/decisions/029-yields-grow-until-they-are-used.md.
 */
export function freed(lock: LockIdentity, heard: number | undefined): void {
  lineOf(lock)?.freed(lock.client.knowsListeners ? heard : undefined);
}

/** The lock is held on, or kept, and Redis has a TTL of so many milliseconds: its line need not rely on the message that tells so. */
export function endsIn({ client, id }: LockIdentity, ms: number): void {
  client.lines.of(id)?.endsIn(ms);
}

/** Whether a lock passes on inside a client. */
export function handsOver({ client, kind }: LockIdentity): boolean {
  return kind.handsOver && client.settings.handOff !== false;
}

/** The line of this client for a lock that may be handed over; undefined where no call waits. */
export function lineOf(lock: LockIdentity): WaitLine | undefined {
  return handsOver(lock) ? lock.client.lines.of(lock.id) : undefined;
}
