import type { LookIntoQueue } from "../protocol/lock-calls.js";
import type { WaitLine } from "../runtime/wait-line.js";
import type { LockIdentity } from "./lock-kind.js";

/**
 * Called before a lock is freed while calls of this client may wait for it.
 * @see docs/internals/states.md#the-line
 */
export function freeing(lock: LockIdentity): void {
  lineOf(lock)?.freeing();
}

/**
 * The release has freed nothing, or has no answer. If the line ignored a message because it seemed to come from this release, the line asks
 * again.
 */
export function notFreed(lock: LockIdentity): void {
  lineOf(lock)?.notFreed();
}

interface FreedAnswer {
  readonly heard?: number;
  readonly given?: boolean;
}

/**
 * The lock was freed: the line leaves it to other clients for a while before its head asks. See
 * docs/decisions/029-yields-grow-until-they-are-used.md.
 */
export function freed(lock: LockIdentity, { heard, given }: FreedAnswer, looks?: LookIntoQueue): void {
  const { client, id } = lock;
  if (looks?.way === "leaves") client.lines.hasLeft(id, looks);
  else if (looks === undefined && lock.queues && heard) client.lines.wasHeard(id);
  const line = lineOf(lock);
  if (given) line?.given();
  else line?.freed(lock.client.knowsListeners ? heard : undefined);
}

/** Whether a client may hand the lock from call to call. */
export function handsOver({ client, kind }: LockIdentity): boolean {
  return kind.handsOver && client.settings.handOff !== false;
}

/** The line of this client that a release must notify; undefined if no call waits, or if the line hears all published releases. */
export function lineOf(lock: LockIdentity): WaitLine | undefined {
  const line = lock.client.lines.of(lock.id);
  return handsOver(lock) || (line?.hasQueue && line.ears !== undefined) ? line : undefined;
}
