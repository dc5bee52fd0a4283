import { type Holdfast, type LockState, UnavailableError } from "holdfast";
import type { UnlockOutcome } from "./journal.js";

/**
 * Frees a lock from exactly the holders that were seen. If the answer is lost, the lock is read again: it is never freed from anything that was
 * not seen, and never tried twice.
 * @throws what Redis refuses, and what surely had no effect
 */
export async function free(holdfast: Holdfast, state: LockState): Promise<UnlockOutcome> {
  try {
    return await holdfast.forceUnlock(state);
  } catch (error) {
    if (!(error instanceof UnavailableError) || !error.outcomeUnknown) throw error;
    return afterLostReply(holdfast, state);
  }
}

/** A holder that is there still may have been freed by a command that is on its way: that is not known then. */
async function afterLostReply(holdfast: Holdfast, state: LockState): Promise<UnlockOutcome> {
  try {
    const now = await holdfast.inspect(state.name);
    const left = state.holders.filter((holder) => now.holders.includes(holder));
    return left.length === 0 ? "released" : "unknown";
  } catch {
    return "unknown";
  }
}
