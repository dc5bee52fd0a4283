// @ts-check
// #region setup
import { createServer } from "node:http";
import { context, metrics, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { foldNames, HoldfastInstrumentation } from "holdfast/otel";

/**
 * Measures the locks of this process, and traces them where there is an exporter for spans.
 *
 * @param {object} [options]
 * @param {number} [options.port] where Prometheus finds the metrics; 0: a free one. Default: 9464
 * @param {string} [options.host] default: Prometheus has to be on this machine; "0.0.0.0" for one on another
 * @param {import("@opentelemetry/sdk-trace").SpanExporter} [options.spanExporter] default: no spans
 */
export function startTelemetry({ port = 9464, host = "127.0.0.1", spanExporter } = {}) {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [exporter] }));
  if (spanExporter !== undefined) {
    const spanProcessors = [new SimpleSpanProcessor({ exporter: spanExporter })];
    trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors }));
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  }
  // Metrics have few lock names: `order:4711` is `order:*`. With spans "all" the trace of a holder is there before its work is done.
  new HoldfastInstrumentation({ lockName: foldNames(), spans: "all" });
  const server = createServer((request, response) => exporter.getMetricsRequestHandler(request, response));
  // A port that is taken does not end the program, and Prometheus does not keep it from its end.
  server.on("error", (error) => console.error(`This process offers no metrics: ${error.message}`));
  server.on("connection", (connection) => connection.unref());
  return server.listen(port, host).unref();
}
// #endregion
