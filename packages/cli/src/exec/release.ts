import { type Clock, type Lease, NotHeldError } from "holdfast";
import type { KindOfLock } from "./exec-options.js";
import { pause } from "./process-clock.js";

/** The outcome of a release. `left`: the lock ends with its lease. `lost`: the lock was no longer held. `failed`: the release failed. */
export type Released = "released" | "left" | { readonly lost: string } | { readonly failed: string };

/** Whether Redis can keep a lock of this kind taken after its release. */
export function isKeepable(kind: KindOfLock): boolean {
  return kind === "lock" || kind === "fenced";
}

/**
 * Releases the lock after the command has ended, and keeps it for the rest of `--at-least`: in Redis if the kind of lock allows it,
 * otherwise by waiting.
 * @param signal ends the waiting; the lock then ends with its lease
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
