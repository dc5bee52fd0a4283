import type { Clock } from "../clock.js";

/**
 * A moment on both clocks, because each can be wrong: the monotonic clock after the machine was suspended, the wall clock after its time
 * was set.
 */
export interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function now(clock: Clock): Instant {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
}

export function later({ monotonicMs, wallMs }: Instant, ms: number): Instant {
  return { monotonicMs: monotonicMs + ms, wallMs: wallMs + ms };
}

/** The earlier time on each clock. */
export function earlier(one: Instant, other: Instant): Instant {
  return {
    monotonicMs: Math.min(one.monotonicMs, other.monotonicMs),
    wallMs: Math.min(one.wallMs, other.wallMs),
  };
}

/** Milliseconds from `at` to that moment, by the clock that reaches it first; negative if it has passed. */
export function leftMs({ monotonicMs, wallMs }: Instant, at: Instant): number {
  return Math.min(monotonicMs - at.monotonicMs, wallMs - at.wallMs);
}

export const NEVER: Instant = {
  monotonicMs: Number.POSITIVE_INFINITY,
  wallMs: Number.POSITIVE_INFINITY,
};
