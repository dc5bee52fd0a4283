import type { Clock } from "../../../src/clock.js";

/** The clock of a machine that was set wrong, and started at another time: no client may rely on a clock but its own. */
export function skewedClock(clock: Clock, aheadMs: number): Clock {
  return {
    monotonicMs: () => clock.monotonicMs() + Math.abs(aheadMs) / 3,
    wallMs: () => clock.wallMs() + aheadMs,
    schedule: (delayMs, callback, keepAlive) => clock.schedule(delayMs, callback, keepAlive),
  };
}
