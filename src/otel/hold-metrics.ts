import type { Meter, MeterProvider, ObservableResult } from "@opentelemetry/api";
import { type AcquireEvent, events } from "../events.js";
import { END, LOSS_REASON } from "./attributes.js";
import type { OtelSettings } from "./config.js";
import { HOLD_BOUNDARIES, Instruments } from "./instruments.js";
import type { EventListening } from "./listening.js";
import { LiveHolds } from "./live-holds.js";
import type { MetricGroupMeter } from "./metric-group.js";
import { SeriesOfLocks } from "./series.js";

interface EndedHold {
  readonly name: string;
  readonly kind: string;
  readonly holder: string;
  readonly heldMs: number;
}

/** Measures holds of locks and leased permits, from their acquisition to their end. */
export class HoldMetrics implements MetricGroupMeter {
  readonly #all: SeriesOfLocks;
  readonly #live = new LiveHolds();
  readonly #clock: OtelSettings["clock"];
  readonly #instruments: Instruments<ReturnType<typeof instrumentsOf>>;

  constructor({ lockName, clock }: OtelSettings, provider: MeterProvider | undefined) {
    const [all, live] = [new SeriesOfLocks(lockName), this.#live];
    const nowMs = () => clock.monotonicMs();
    this.#all = all;
    this.#clock = clock;
    const make = (meter: Meter) => instrumentsOf(meter, all, live, nowMs);
    this.#instruments = new Instruments(provider, make, ({ end }) => end());
  }

  listen(listening: EventListening): void {
    listening.toTrace(events.acquire, { ended: (event) => this.#began(event) });
    listening.to(events.release, (event) =>
      this.#ended(event, event.error === undefined ? "released" : "failed"),
    );
    listening.to(events.leaseAbandoned, (event) => this.#ended(event, "abandoned"));
    listening.to(events.leaseLost, (event) => {
      this.#ended(event, "lost");
      const { attributes } = this.#all.of(event);
      this.#instruments.current.losses.add(1, { ...attributes, [LOSS_REASON]: event.reason });
    });
    listening.atEnd(() => {
      this.#live.clear();
      this.#all.clear();
    });
  }

  end(): void {
    this.#instruments.end();
  }

  #began(event: AcquireEvent): void {
    const { name, holder } = event;
    // Plain permits have no holder. Events of a joint lock have no holder either: the end of a hold is reported for each member.
    if (event.outcome !== "acquired" || holder === undefined) return;
    this.#live.began({ name, holder }, this.#all.of(event), this.#clock.monotonicMs());
    // Creates the instruments now, so that the meter can ask for the number of holds before the first hold ends.
    void this.#instruments.current;
  }

  #ended(hold: EndedHold, how: "released" | "failed" | "lost" | "abandoned"): void {
    const { attributes } = this.#all.of(hold).with(END, how);
    this.#live.ended(hold);
    this.#instruments.current.duration.record(hold.heldMs / 1_000, attributes);
  }
}

function instrumentsOf(meter: Meter, all: SeriesOfLocks, live: LiveHolds, nowMs: () => number) {
  const active = meter.createObservableUpDownCounter("holdfast.hold.active", {
    description: "Holds of locks, and leased permits, that have not ended.",
    unit: "{lease}",
  });
  const observeActive = (result: ObservableResult) => {
    for (const series of all.all()) result.observe(series.active, series.attributes);
  };
  active.addCallback(observeActive);
  const age = meter.createObservableGauge("holdfast.hold.age", {
    description: "The age of the oldest hold that has not ended; 0 if there is none.",
    unit: "s",
  });
  const observeAge = (result: ObservableResult) => {
    const starts = live.oldest();
    const at = nowMs();
    for (const series of all.all()) {
      result.observe((at - (starts.get(series) ?? at)) / 1_000, series.attributes);
    }
  };
  age.addCallback(observeAge);
  return {
    duration: meter.createHistogram("holdfast.hold.duration", {
      description: "From the acquisition of a lock or leased permits to the end of that hold.",
      unit: "s",
      advice: { explicitBucketBoundaries: HOLD_BOUNDARIES },
    }),
    losses: meter.createCounter("holdfast.lease.losses", {
      description: "Leases that ended before their release.",
      unit: "{lease}",
    }),
    end() {
      active.removeCallback(observeActive);
      age.removeCallback(observeAge);
    },
  };
}
