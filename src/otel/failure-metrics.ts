import type { Meter, MeterProvider } from "@opentelemetry/api";
import { events } from "../events.js";
import { COMMAND, ERROR_TYPE, errorType } from "./attributes.js";
import type { OtelSettings } from "./config.js";
import { Instruments } from "./instruments.js";
import type { EventListening } from "./listening.js";
import type { MetricGroupMeter } from "./metric-group.js";
import { SeriesOfLocks } from "./series.js";

/** Counts failures that no call of the program reports. */
export class FailureMetrics implements MetricGroupMeter {
  readonly #all: SeriesOfLocks;
  readonly #instruments: Instruments<ReturnType<typeof instrumentsOf>>;

  constructor({ lockName }: OtelSettings, provider: MeterProvider | undefined) {
    this.#all = new SeriesOfLocks(lockName);
    this.#instruments = new Instruments(provider, instrumentsOf);
  }

  listen(listening: EventListening): void {
    listening.to(events.releaseFailed, (event) => {
      const { attributes } = this.#all.of(event);
      this.#instruments.current.releases.add(1, { ...attributes, [ERROR_TYPE]: errorType(event.error) });
    });
    listening.to(events.subscriptionFailed, ({ error }) =>
      this.#instruments.current.subscriptions.add(1, { [ERROR_TYPE]: errorType(error) }),
    );
    listening.to(events.replicasShort, ({ script }) =>
      this.#instruments.current.replicas.add(1, { [COMMAND]: script }),
    );
  }

  end(): void {
    this.#instruments.end();
  }
}

function instrumentsOf(meter: Meter) {
  return {
    releases: meter.createCounter("holdfast.release.failures", {
      description: "Releases by `using` and `await using` that failed.",
      unit: "{release}",
    }),
    subscriptions: meter.createCounter("holdfast.subscription.failures", {
      description: "Subscriptions that failed: until the next try, waiters get no messages.",
      unit: "{subscription}",
    }),
    replicas: meter.createCounter("holdfast.replicas.short", {
      description: "Commands that too few replicas acknowledged in time.",
      unit: "{command}",
    }),
  };
}
