import type { EventListening } from "./listening.js";

/** Measures one group of instruments while the instrumentation is enabled. */
export interface MetricGroupMeter {
  /** Measures until the listening stops. */
  listen(listening: EventListening): void;
  /** Ends the instruments: another group has replaced this group. */
  end(): void;
}
