import { Contestant, PAIRS_PER_BATCH, warmUpBatches } from "../support/batches.mjs";
import { builtModule } from "../support/built-module.mjs";
import { median } from "../support/statistics.mjs";

/** @import { Connection, Done, Scenario, Worker, WorkerSelf } from "../support/contracts.js" */

/** @type {Scenario} */
export const lonePairTelemetry = {
  name: "lone-pair-telemetry",
  title: "One task with one lock, with OpenTelemetry and without",
  about:
    "Four processes do 100 pairs each in turn. One has no telemetry. One has `HoldfastInstrumentation` as it is by default, lock names folded. One has a span for each call and the commands measured as well. The last has no instrumentation, and makes the same span and measurements by hand: the floor, which the SDK alone costs. The three have the SDK, its context manager and exporters in memory. The ratios are medians over such rounds.",
  columns: [
    { metric: "plainPerSecond", heading: "lock + unlock, pairs/s" },
    { metric: "perSecond", heading: "with telemetry" },
    { metric: "toPlain", heading: "to the one without", digits: 3 },
    { metric: "everythingToPlain", heading: "with everything, to the one without", digits: 3 },
    { metric: "sdkAloneToPlain", heading: "the SDK alone, to the one without", digits: 3 },
  ],
  tries: "acquiring",
  contestants: (libraries) =>
    libraries.filter(({ role, variant }) => role === "ours" && variant === undefined),

  async measure(stage, { quick, forMs }) {
    const [plain, usual] = [await stage.worker(), await stage.worker()];
    const [everything, byHand] = [await stage.worker(), await stage.worker()];
    await usual.order("instrument", { everything: false });
    await everything.order("instrument", { everything: true });
    await byHand.order("makeByHand");
    const workers = [plain, usual, everything, byHand];
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
    const [plainMs = [], usualMs = [], everythingMs = [], byHandMs = []] = tookMs;
    const toPlain = (/** @type {readonly number[]} */ others) =>
      median(plainMs.map((ms, round) => ms / (others[round] ?? ms)));
    return {
      plainPerSecond: perSecond(plainMs),
      perSecond: perSecond(usualMs),
      toPlain: toPlain(usualMs),
      everythingToPlain: toPlain(everythingMs),
      sdkAloneToPlain: toPlain(byHandMs),
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
      const { meterProvider, tracerProvider } = await startSdk();
      const instrumentation = new HoldfastInstrumentation({
        enabled: false,
        lockName: foldNames(),
        ...(everything && { spans: "all", enabledMetricGroups: GROUPS }),
      });
      instrumentation.setMeterProvider(meterProvider);
      instrumentation.setTracerProvider(tracerProvider);
      instrumentation.enable();
    },

    /** @param {Connection} connection */
    async makeByHand(connection) {
      const { sdkAlone } = await import("../support/sdk-alone.mjs");
      const { meterProvider, tracerProvider } = await startSdk();
      handmade.set(connection, sdkAlone(meterProvider, tracerProvider));
    },

    /** @param {Connection} connection */
    batch: (connection) => new Contestant(withHandmade(connection), "lone-pair").batch(),
  },
};

const GROUPS = ["acquire", "hold", "renewal", "failure", "command"];

/** What a worker makes by hand after each pair. @type {WeakMap<Connection, () => void>} */
const handmade = new WeakMap();

/** @param {Connection} connection @returns {Connection} */
function withHandmade(connection) {
  const make = handmade.get(connection);
  if (make === undefined) return connection;
  return {
    ...connection,
    release(handle) {
      make();
      return connection.release(handle);
    },
  };
}

async function startSdk() {
  const { context } = await import("@opentelemetry/api");
  const { AsyncLocalStorageContextManager } = await import("@opentelemetry/context-async-hooks");
  const metrics = await import("@opentelemetry/sdk-metrics");
  const traces = await import("@opentelemetry/sdk-trace-base");
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const exporter = new metrics.InMemoryMetricExporter(metrics.AggregationTemporality.DELTA);
  const readers = [new metrics.PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 10_000 })];
  const spanProcessors = [new traces.BatchSpanProcessor({ export: dropped, shutdown: ended })];
  return {
    meterProvider: new metrics.MeterProvider({ readers }),
    tracerProvider: new traces.BasicTracerProvider({ spanProcessors }),
  };
}

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
