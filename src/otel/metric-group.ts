import type { EventListening } from "./listening.js";

/** Measures one group of instruments, each time that it is enabled. */
export interface MetricGroupMeter {
  /** Measures until the listening stops. */
  listen(listening: EventListening): void;
  /** Another group has replaced this group: its instruments are no longer of use. */
  end(): void;
}
