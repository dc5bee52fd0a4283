import { context } from "@opentelemetry/api";

/** @import { MeterProvider, TracerProvider } from "@opentelemetry/api" */

/** As many as most histograms of holdfast have. */
const explicitBucketBoundaries = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];
const WAITED_MS = 1;
const lock = { "holdfast.lock.kind": "lock", "holdfast.lock.name": "lone-pair" };
const acquired = { ...lock, "holdfast.outcome": "acquired", "holdfast.via": "free" };
const released = { ...lock, "holdfast.end": "released" };
const commands = ["lock-acquire", "lock-release"].map((script) => ({
  sent: { "holdfast.command": script },
  ended: { "holdfast.command": script, "holdfast.command.outcome": "answered" },
}));

/**
 * Makes by hand what `HoldfastInstrumentation` makes of a lone pair with everything switched on: one span and six measurements, with the
 * same attributes. Nothing listens to events.
 *
 * @param {MeterProvider} meterProvider
 * @param {TracerProvider} tracerProvider
 * @returns {() => void} to be called once for each pair
 */
export function sdkAlone(meterProvider, tracerProvider) {
  const [meter, tracer] = [meterProvider.getMeter("by-hand"), tracerProvider.getTracer("by-hand")];
  const histogram = (/** @type {string} */ name) =>
    meter.createHistogram(name, { unit: "s", advice: { explicitBucketBoundaries } });
  const [acquisitions, holds] = [histogram("acquire"), histogram("hold")];
  const [durations, sizes] = [histogram("command"), histogram("locks")];
  let pairs = 0;
  return () => {
    pairs += 1;
    acquisitions.record(WAITED_MS / 1_000, acquired);
    holds.record(WAITED_MS / 1_000, released);
    for (const { sent, ended } of commands) {
      durations.record(WAITED_MS / 1_000, ended);
      sizes.record(1, sent);
    }
    const endMs = Date.now();
    const attributes = {
      "holdfast.lock.name": "lone-pair",
      "holdfast.lock.kind": "lock",
      "holdfast.outcome": "acquired",
      "holdfast.waited_ms": WAITED_MS,
      "holdfast.attempts": 1,
      "holdfast.client.id": "by-hand",
      "holdfast.server": "redis://127.0.0.1:6379/0",
      "holdfast.via": "free",
      "holdfast.holder": `by-hand:${pairs}`,
      "holdfast.hold.count": 1,
    };
    const span = tracer.startSpan("acquire", { startTime: endMs - WAITED_MS, attributes }, context.active());
    span.end(endMs);
  };
}
