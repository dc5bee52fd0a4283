import { type Holdfast, type LockState, UnavailableError } from "holdfast";
import type { UnlockOutcome } from "./journal.js";

/**
 * Frees a lock from exactly the holders that were seen. If the answer is lost, the lock is read again: it is never freed from a holder that
 * was not seen, and the command is never repeated.
 * @throws refusals of Redis, and errors of commands that surely had no effect
 */
export async function free(holdfast: Holdfast, state: LockState): Promise<UnlockOutcome> {
  try {
    return await holdfast.forceUnlock(state);
  } catch (error) {
    if (!(error instanceof UnavailableError) || !error.outcomeUnknown) throw error;
    return afterLostReply(holdfast, state);
  }
}

/** If a holder is still there, the command may be on its way and free the lock later: the outcome is unknown. */
async function afterLostReply(holdfast: Holdfast, state: LockState): Promise<UnlockOutcome> {
  try {
    const now = await holdfast.inspect(state.name);
    const left = state.holders.filter((holder) => now.holders.includes(holder));
    return left.length === 0 ? "released" : "unknown";
  } catch {
    return "unknown";
  }
}
