import type { Attributes, Meter, MeterProvider, ObservableResult } from "@opentelemetry/api";
import { type AcquireEvent, events } from "../events.js";
import { ERROR_TYPE, errorType, OUTCOME, VIA } from "./attributes.js";
import type { OtelSettings } from "./config.js";
import { ACQUIRE_BOUNDARIES, Instruments } from "./instruments.js";
import type { EventListening } from "./listening.js";
import type { MetricGroupMeter } from "./metric-group.js";
import { type Series, SeriesOfLocks } from "./series.js";

/** Measures calls for locks and permits, from their beginning to their end. */
export class AcquireMetrics implements MetricGroupMeter {
  readonly #all: SeriesOfLocks;
  readonly #instruments: Instruments<ReturnType<typeof instrumentsOf>>;

  constructor({ lockName }: OtelSettings, provider: MeterProvider | undefined) {
    const all = new SeriesOfLocks(lockName);
    this.#all = all;
    this.#instruments = new Instruments(
      provider,
      (meter) => instrumentsOf(meter, all),
      ({ end }) => end(),
    );
  }

  listen(listening: EventListening): void {
    const [all, instruments] = [this.#all, this.#instruments];
    /**
     * The calls that began since measuring began, each with its series: the end of a call must count down the series that the call's
     * beginning counted up.
     */
    const calls = new Map<AcquireEvent, Series>();
    listening.toTrace(events.acquire, {
      begun(event) {
        const series = all.of(event);
        series.active += 1;
        calls.set(event, series);
        // Creates the instruments now, so that the meter can ask for the number of calls before the first call ends.
        void instruments.current;
      },
      ended(event) {
        const series = calls.get(event);
        if (series === undefined) return;
        calls.delete(event);
        series.active -= 1;
        instruments.current.duration.record((event.waitedMs ?? 0) / 1_000, attributesOf(event, series));
      },
    });
    listening.to(events.contended, (event) =>
      instruments.current.contentions.add(1, all.of(event).attributes),
    );
    listening.atEnd(() => all.clear());
  }

  end(): void {
    this.#instruments.end();
  }
}

function instrumentsOf(meter: Meter, all: SeriesOfLocks) {
  const active = meter.createObservableUpDownCounter("holdfast.acquire.active", {
    description: "Calls for locks and permits that have not ended.",
    unit: "{call}",
  });
  const observe = (result: ObservableResult) => {
    for (const series of all.all()) result.observe(series.active, series.attributes);
  };
  active.addCallback(observe);
  return {
    duration: meter.createHistogram("holdfast.acquire.duration", {
      description: "From a call for a lock or permits to its end, however it ends.",
      unit: "s",
      advice: { explicitBucketBoundaries: ACQUIRE_BOUNDARIES },
    }),
    contentions: meter.createCounter("holdfast.contentions", {
      description: "Calls that could not get the lock or the permits immediately.",
      unit: "{contention}",
    }),
    end: () => active.removeCallback(observe),
  };
}

function attributesOf(event: AcquireEvent & { readonly error?: unknown }, series: Series): Attributes {
  const { outcome = "failed", via, error } = event;
  const ended = series.with(OUTCOME, outcome);
  // An error may have any code, so attributes with a code are not cached.
  if (outcome === "failed") return { ...ended.attributes, [ERROR_TYPE]: errorType(error) };
  return (via === undefined ? ended : ended.with(VIA, via)).attributes;
}
