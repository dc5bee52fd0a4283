import type { EventListening } from "./listening.js";

/** What measures one group of instruments, each time that it is enabled. */
export interface MetricGroupMeter {
  /** Measures until the listening stops. */
  listen(listening: EventListening): void;
  /** It is replaced by another: its instruments are of no use any more. */
  end(): void;
}
