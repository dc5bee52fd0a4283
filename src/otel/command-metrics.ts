import type { Meter, MeterProvider } from "@opentelemetry/api";
import { events } from "../events.js";
import { AttributeSet } from "./attribute-set.js";
import { COMMAND, COMMAND_OUTCOME } from "./attributes.js";
import { ACQUIRE_BOUNDARIES, Instruments, SIZE_BOUNDARIES } from "./instruments.js";
import type { EventListening } from "./listening.js";
import type { MetricGroupMeter } from "./metric-group.js";

/** Measures the commands that are sent. */
export class CommandMetrics implements MetricGroupMeter {
  readonly #all = new AttributeSet({});
  readonly #instruments: Instruments<ReturnType<typeof instrumentsOf>>;

  constructor(provider: MeterProvider | undefined) {
    this.#instruments = new Instruments(provider, instrumentsOf);
  }

  listen(listening: EventListening): void {
    listening.toTrace(events.command, {
      ended: ({ script, outcome = "unknown", durationMs = 0, locks = 0 }) => {
        const { duration, size } = this.#instruments.current;
        const command = this.#all.with(COMMAND, script);
        duration.record(durationMs / 1_000, command.with(COMMAND_OUTCOME, outcome).attributes);
        // A command that was never sent concerns 0 locks.
        if (locks > 0) size.record(locks, command.attributes);
      },
    });
  }

  end(): void {
    this.#instruments.end();
  }
}

function instrumentsOf(meter: Meter) {
  return {
    duration: meter.createHistogram("holdfast.command.duration", {
      description: "From the first try of a command to its end, with all pauses.",
      unit: "s",
      advice: { explicitBucketBoundaries: ACQUIRE_BOUNDARIES },
    }),
    size: meter.createHistogram("holdfast.command.locks", {
      description: "Locks, permits or latches that a command concerned.",
      unit: "{lock}",
      advice: { explicitBucketBoundaries: SIZE_BOUNDARIES },
    }),
  };
}
