// @ts-check
// #region setup
import { createServer } from "node:http";
import { context, metrics, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { foldNames, HoldfastInstrumentation } from "holdfast/otel";

/**
 * Measures and traces the locks of this process.
 *
 * @param {import("@opentelemetry/sdk-trace-base").SpanExporter} spanExporter
 * @param {number} port where Prometheus finds the metrics; 0: a free one
 */
export function startTelemetry(spanExporter, port = 9464) {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [exporter] }));
  const spanProcessors = [new SimpleSpanProcessor(spanExporter)];
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  // Metrics have few lock names: `order:4711` is `order:*`. With spans "all" the trace of a holder is there before its work is done.
  new HoldfastInstrumentation({ lockName: foldNames(), spans: "all" });
  return createServer((request, response) => exporter.getMetricsRequestHandler(request, response)).listen(
    port,
    "127.0.0.1",
  );
}
// #endregion
