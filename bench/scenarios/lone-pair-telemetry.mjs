import { Contestant, PAIRS_PER_BATCH, warmUpBatches } from "../support/batches.mjs";
import { builtModule } from "../support/built-module.mjs";
import { median } from "../support/statistics.mjs";

/** @import { Connection, Done, Scenario, Worker, WorkerSelf } from "../support/contracts.js" */

/** @type {Scenario} */
export const lonePairTelemetry = {
  name: "lone-pair-telemetry",
  title: "One task with one lock, with OpenTelemetry and without",
  about:
    "Three processes do 100 pairs each in turn: one without telemetry, one with `HoldfastInstrumentation` as it is by default, lock names folded, and one with a span for each call and the commands measured as well; both with the SDK, its context manager and exporters in memory. The ratios are medians over such rounds.",
  columns: [
    { metric: "plainPerSecond", heading: "lock + unlock, pairs/s" },
    { metric: "perSecond", heading: "with telemetry" },
    { metric: "toPlain", heading: "to the one without", digits: 3 },
    { metric: "everythingToPlain", heading: "with everything, to the one without", digits: 3 },
  ],
  tries: "acquiring",
  contestants: (libraries) =>
    libraries.filter(({ role, variant }) => role === "ours" && variant === undefined),

  async measure(stage, { quick, forMs }) {
    const [plain, usual, everything] = [await stage.worker(), await stage.worker(), await stage.worker()];
    await usual.order("instrument", { everything: false });
    await everything.order("instrument", { everything: true });
    const workers = [plain, usual, everything];
    for (let round = 0; round < warmUpBatches(quick); round += 1) {
      for (const worker of workers) await batch(worker);
    }
    /** What the batches of each worker took. @type {number[][]} */
    const tookMs = workers.map(() => []);
    const endMs = performance.now() + forMs;
    for (let round = 0; round === 0 || performance.now() < endMs; round += 1) {
      // Each goes first as often as the others.
      for (let turn = 0; turn < workers.length; turn += 1) {
        const at = (round + turn) % workers.length;
        const worker = workers[at];
        if (worker !== undefined) tookMs[at]?.push(await batch(worker));
      }
    }
    const [plainMs = [], usualMs = [], everythingMs = []] = tookMs;
    return {
      plainPerSecond: perSecond(plainMs),
      perSecond: perSecond(usualMs),
      toPlain: median(plainMs.map((ms, round) => ms / (usualMs[round] ?? ms))),
      everythingToPlain: median(plainMs.map((ms, round) => ms / (everythingMs[round] ?? ms))),
    };
  },

  orders: {
    /**
     * @param {Connection} _
     * @param {{ readonly everything: boolean }} how
     * @param {WorkerSelf} worker
     */
    async instrument(_, { everything }, { settings }) {
      const { foldNames, HoldfastInstrumentation } = await builtModule(settings, "./otel");
      const { context } = await import("@opentelemetry/api");
      const { AsyncLocalStorageContextManager } = await import("@opentelemetry/context-async-hooks");
      const metrics = await import("@opentelemetry/sdk-metrics");
      const traces = await import("@opentelemetry/sdk-trace-base");
      context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
      const exporter = new metrics.InMemoryMetricExporter(metrics.AggregationTemporality.DELTA);
      const readers = [new metrics.PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 10_000 })];
      const spanProcessors = [new traces.BatchSpanProcessor({ export: dropped, shutdown: ended })];
      const instrumentation = new HoldfastInstrumentation({
        enabled: false,
        lockName: foldNames(),
        ...(everything && { spans: "all", enabledMetricGroups: GROUPS }),
      });
      instrumentation.setMeterProvider(new metrics.MeterProvider({ readers }));
      instrumentation.setTracerProvider(new traces.BasicTracerProvider({ spanProcessors }));
      instrumentation.enable();
    },

    /** @param {Connection} connection */
    batch: (connection) => new Contestant(connection, "lone-pair").batch(),
  },
};

const GROUPS = ["acquire", "hold", "renewal", "failure", "command"];

/**
 * Takes spans and keeps none.
 *
 * @param {unknown} _
 * @param {(result: { code: number }) => void} done
 */
function dropped(_, done) {
  done({ code: 0 });
}

function ended() {
  return Promise.resolve();
}

/**
 * @param {Worker} worker
 * @returns {Promise<number>} what it took, in milliseconds
 */
async function batch(worker) {
  const { value } = /** @type {Done<number>} */ (await worker.order("batch"));
  return value;
}

/** @param {readonly number[]} tookMs */
function perSecond(tookMs) {
  return (PAIRS_PER_BATCH / median(tookMs)) * 1_000;
}
