import type { MeterProvider, TracerProvider } from "@opentelemetry/api";
import { VERSION } from "../version.js";
import { AcquireMetrics } from "./acquire-metrics.js";
import { traceAcquisitions } from "./acquire-spans.js";
import { CommandMetrics } from "./command-metrics.js";
import {
  type HoldfastInstrumentationConfig,
  type MetricGroup,
  type OtelSettings,
  settingsOf,
} from "./config.js";
import { FailureMetrics } from "./failure-metrics.js";
import { HoldMetrics } from "./hold-metrics.js";
import { SCOPE } from "./instruments.js";
import { EventListening } from "./listening.js";
import type { MetricGroupMeter } from "./metric-group.js";
import { RenewalMetrics } from "./renewal-metrics.js";

/**
 * Metrics and spans of all clients of the process, made from their events. It has the shape of OpenTelemetry's `Instrumentation`: pass it
 * to `registerInstrumentations` or a `NodeSDK`. Errors of the SDK do not reach a lock; `diag` reports them. The names of metrics,
 * attributes and spans: docs/guide/opentelemetry.md.
 *
 * @example
 * registerInstrumentations({ instrumentations: [new HoldfastInstrumentation({ lockName: foldNames() })] });
 */
export class HoldfastInstrumentation implements Disposable {
  readonly instrumentationName: string = SCOPE;
  readonly instrumentationVersion: string = VERSION;
  #config: HoldfastInstrumentationConfig;
  #settings: OtelSettings;
  #meterProvider: MeterProvider | undefined;
  #tracerProvider: TracerProvider | undefined;
  /** The instruments of the enabled groups; undefined until they are first needed. */
  #meters: readonly MetricGroupMeter[] | undefined;
  /** Undefined while the instrumentation is disabled. */
  #listening: EventListening | undefined;

  /**
   * Enables the instrumentation, unless `enabled` is false.
   * @throws TypeError naming the option that is wrong
   */
  constructor(config: HoldfastInstrumentationConfig = {}) {
    this.#settings = settingsOf(config);
    this.#config = { ...config, enabled: this.#settings.enabled };
    if (this.#settings.enabled) this.enable();
  }

  /**
   * Begins to listen. Of calls and holds that have already begun, only the ends of holds are counted. Calling it twice is safe.
   * @example instrumentation.enable();
   */
  enable(): this {
    if (this.#listening !== undefined) return this;
    const listening = new EventListening();
    this.#listening = listening;
    traceAcquisitions(listening, this.#settings, this.#tracerProvider);
    this.#meters ??= metersOf(this.#settings, this.#meterProvider);
    for (const meter of this.#meters) meter.listen(listening);
    return this;
  }

  /**
   * Stops listening. Calling it twice is safe.
   * @example instrumentation.disable();
   */
  disable(): void {
    this.#listening?.stop();
    this.#listening = undefined;
  }

  /**
   * As {@link disable}: `using instrumentation = new HoldfastInstrumentation()`.
   * @example using instrumentation = new HoldfastInstrumentation();
   */
  [Symbol.dispose](): void {
    this.disable();
  }

  /**
   * Default: the global provider.
   * @example instrumentation.setTracerProvider(tracerProvider);
   */
  setTracerProvider(provider: TracerProvider): void {
    this.#tracerProvider = provider;
    this.#again();
  }

  /**
   * Default: the global provider. A new provider does not know the active holds that the previous provider counted.
   * @example instrumentation.setMeterProvider(meterProvider);
   */
  setMeterProvider(provider: MeterProvider): void {
    this.#meterProvider = provider;
    this.#again();
  }

  /** @example const { spans } = instrumentation.getConfig(); */
  getConfig(): HoldfastInstrumentationConfig {
    return this.#config;
  }

  /**
   * Takes effect at once, except `enabled`, which only the constructor reads.
   * @throws TypeError naming the option that is wrong
   * @example instrumentation.setConfig({ ...instrumentation.getConfig(), spans: "all" });
   */
  setConfig(config: HoldfastInstrumentationConfig): void {
    this.#settings = settingsOf(config);
    this.#config = { ...config, enabled: this.#settings.enabled };
    this.#again();
  }

  #again(): void {
    const isEnabled = this.#listening !== undefined;
    this.disable();
    for (const meter of this.#meters ?? []) meter.end();
    this.#meters = undefined;
    if (isEnabled) this.enable();
  }
}

function metersOf(settings: OtelSettings, provider: MeterProvider | undefined): readonly MetricGroupMeter[] {
  const makes: Readonly<Record<MetricGroup, () => MetricGroupMeter>> = {
    acquire: () => new AcquireMetrics(settings, provider),
    hold: () => new HoldMetrics(settings, provider),
    renewal: () => new RenewalMetrics(provider),
    failure: () => new FailureMetrics(settings, provider),
    command: () => new CommandMetrics(provider),
  };
  return [...settings.groups].map((group) => makes[group]());
}
