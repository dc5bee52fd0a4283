import type { Clock } from "../clock.js";

/** A moment on both clocks: neither alone tells the truth when a machine is suspended or its time is set. */
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

/** The earlier one on each of the clocks. */
export function earlier(one: Instant, other: Instant): Instant {
  return {
    monotonicMs: Math.min(one.monotonicMs, other.monotonicMs),
    wallMs: Math.min(one.wallMs, other.wallMs),
  };
}

/** How long it is from a moment until then, by the clock that gets there first; negative when it has been. */
export function leftMs({ monotonicMs, wallMs }: Instant, at: Instant): number {
  return Math.min(monotonicMs - at.monotonicMs, wallMs - at.wallMs);
}

export const NEVER: Instant = {
  monotonicMs: Number.POSITIVE_INFINITY,
  wallMs: Number.POSITIVE_INFINITY,
};
