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
 * The release has freed nothing, or has no answer. If a waiting call ignored a message that seemed to come from this release, the
 * call asks again.
 */
export function notFreed(lock: LockIdentity): void {
  lineOf(lock)?.notFreed();
}

interface FreedAnswer {
  readonly heard?: number;
  readonly given?: boolean;
}

/**
 * The lock was freed: for a while this client leaves it to other clients, and then one of its waiting calls asks. See
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

/** Whether a client may hand the lock from one of its calls to another. */
export function handsOver({ client, kind }: LockIdentity): boolean {
  return kind.handsOver && client.settings.handOff !== false;
}

/** The waiting calls of this client, if a release must notify them: calls that get all published messages need no notice. */
export function lineOf(lock: LockIdentity): WaitLine | undefined {
  const line = lock.client.lines.of(lock.id);
  return handsOver(lock) || (line?.hasQueue && line.ears !== undefined) ? line : undefined;
}
