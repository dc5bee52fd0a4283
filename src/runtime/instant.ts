import type { Clock } from "../clock.js";

/** A moment on both clocks: neither alone tells the truth when a machine is suspended or its time is set. */
export interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function now(clock: Clock): Instant {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
}
