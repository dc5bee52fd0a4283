import type { Meter, MeterProvider } from "@opentelemetry/api";
import { events } from "../events.js";
import { ERROR_TYPE, errorType } from "./attributes.js";
import { Instruments, LATENESS_BOUNDARIES, SIZE_BOUNDARIES } from "./instruments.js";
import type { EventListening } from "./listening.js";
import type { MetricGroupMeter } from "./metric-group.js";

/** Measures how the watchdog renews leases. */
export class RenewalMetrics implements MetricGroupMeter {
  readonly #instruments: Instruments<ReturnType<typeof instrumentsOf>>;

  constructor(provider: MeterProvider | undefined) {
    this.#instruments = new Instruments(provider, instrumentsOf);
  }

  listen(listening: EventListening): void {
    listening.to(events.renewalDone, ({ lateMs, locks }) => {
      const { lateness, size } = this.#instruments.current;
      lateness.record(lateMs / 1_000);
      size.record(locks);
    });
    listening.to(events.renewalFailed, ({ error }) =>
      this.#instruments.current.failures.add(1, { [ERROR_TYPE]: errorType(error) }),
    );
  }

  end(): void {
    this.#instruments.end();
  }
}

function instrumentsOf(meter: Meter) {
  return {
    lateness: meter.createHistogram("holdfast.renewal.lateness", {
      description: "From the beat of the watchdog to the sending of a renewal that was answered.",
      unit: "s",
      advice: { explicitBucketBoundaries: LATENESS_BOUNDARIES },
    }),
    size: meter.createHistogram("holdfast.renewal.size", {
      description: "Leases in a renewal that was answered.",
      unit: "{lease}",
      advice: { explicitBucketBoundaries: SIZE_BOUNDARIES },
    }),
    failures: meter.createCounter("holdfast.renewal.failures", {
      description: "Renewals with an unknown outcome, which are tried again.",
      unit: "{renewal}",
    }),
  };
}
