import { type Clock, type Lease, NotHeldError } from "holdfast";
import type { KindOfLock } from "./exec-options.js";
import { pause } from "./process-clock.js";

/** What became of a release: `left` to its lease, not held any more, or not carried out. */
export type Released = "released" | "left" | { readonly lost: string } | { readonly failed: string };

/** Whether a lock of a kind can stay taken after its release. */
export function isKeepable(kind: KindOfLock): boolean {
  return kind === "lock" || kind === "fenced";
}

/**
 * Releases the lock after the command has ended, and keeps it for what is left of `--at-least`: in Redis, where the kind can be kept, else by
 * waiting.
 * @param signal ends the waiting; the lock then falls with its lease
 */
export async function release(
  lease: Lease,
  { kind, leftMs }: { readonly kind: KindOfLock; readonly leftMs: number },
  clock: Clock,
  signal: AbortSignal,
): Promise<Released> {
  try {
    if (leftMs > 0 && isKeepable(kind)) {
      await lease.unlock({ keepForMs: Math.ceil(leftMs) });
      return "released";
    }
    if (leftMs > 0) await pause(clock, leftMs, signal);
    if (leftMs > 0 && signal.aborted) return "left";
    await lease.unlock();
    return "released";
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return error instanceof NotHeldError ? { lost: message } : { failed: message };
  }
}
