import type { Attributes } from "@opentelemetry/api";
import {
  AggregationTemporality,
  DataPointType,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { afterEach } from "vitest";
import { HoldfastInstrumentation, type HoldfastInstrumentationConfig } from "../../../src/otel/index.js";

/** A data point without its times. */
export interface Point {
  readonly attributes: Attributes;
  /** Of a histogram its sum and its count. */
  readonly value: number | { readonly sum: number; readonly count: number };
}

/** What an instrument has collected, by its name. */
export type Points = Readonly<Record<string, readonly Point[]>>;

/** An SDK that keeps in memory what it exports. To be shut down. */
export interface InMemorySdk {
  readonly meterProvider: MeterProvider;
  readonly tracerProvider: BasicTracerProvider;
  /** Collects and exports. */
  points(): Promise<Points>;
  /** Of each instrument, its unit and type. */
  units(): Promise<Readonly<Record<string, string>>>;
  /** The spans that have ended, in that order. */
  spans(): readonly ReadableSpan[];
  /** How many spans had begun before this one. Their times tell it to the millisecond only. */
  begunBefore(span: ReadableSpan): number;
  shutdown(): Promise<void>;
}

const ends: (() => Promise<void> | void)[] = [];
/** Far longer than a test: only `points` exports. */
const NEVER_MS = 3_600_000;

/** SDKs and instrumentations that end after each test of the file. */
export function openTelemetry() {
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });
  return {
    sdk,
    /** An instrumentation that tells an SDK of its own. */
    instrument(config: HoldfastInstrumentationConfig = {}): InMemorySdk & {
      readonly instrumentation: HoldfastInstrumentation;
    } {
      const made = sdk();
      const instrumentation = new HoldfastInstrumentation(config);
      instrumentation.setMeterProvider(made.meterProvider);
      instrumentation.setTracerProvider(made.tracerProvider);
      ends.push(() => instrumentation.disable());
      return { ...made, instrumentation };
    },
    atEnd(end: () => Promise<void> | void): void {
      ends.push(end);
    },
  };
}

function sdk(): InMemorySdk {
  const made = inMemorySdk();
  ends.push(made.shutdown);
  return made;
}

export function inMemorySdk(): InMemorySdk {
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({
    exporter: metricExporter,
    exportIntervalMillis: NEVER_MS,
    exportTimeoutMillis: NEVER_MS,
  });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const spanExporter = new InMemorySpanExporter();
  const begun = new Map<string, number>();
  const tracerProvider = new BasicTracerProvider({
    spanProcessors: [
      {
        onStart: (span) => void begun.set(span.spanContext().spanId, begun.size),
        onEnd: () => undefined,
        forceFlush: async () => undefined,
        shutdown: async () => undefined,
      },
      new SimpleSpanProcessor(spanExporter),
    ],
  });
  const metrics = async () => {
    metricExporter.reset();
    await reader.forceFlush();
    const [latest] = metricExporter.getMetrics();
    return latest?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
  };
  return {
    meterProvider,
    tracerProvider,
    async points() {
      const found = await metrics();
      return Object.fromEntries(
        found.map(({ descriptor, dataPoints, dataPointType }) => [
          descriptor.name,
          dataPoints.map(({ attributes, value }) => {
            if (dataPointType !== DataPointType.HISTOGRAM) return { attributes, value: Number(value) };
            const { sum = 0, count } = value as Histogram;
            return { attributes, value: { sum: Math.round(sum * 1e6) / 1e6, count } };
          }),
        ]),
      );
    },
    async units() {
      const found = await metrics();
      return Object.fromEntries(
        found.map(({ descriptor: { name, unit }, dataPointType }) => [
          name,
          `${unit} ${DataPointType[dataPointType].toLowerCase()}`,
        ]),
      );
    },
    spans: () => spanExporter.getFinishedSpans(),
    begunBefore: (span) => begun.get(span.spanContext().spanId) ?? begun.size,
    async shutdown() {
      await meterProvider.shutdown();
      await tracerProvider.shutdown();
    },
  };
}
