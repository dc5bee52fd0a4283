import { Contestant, PAIRS_PER_BATCH, warmUpBatches } from "../support/batches.mjs";
import { builtModule } from "../support/built-module.mjs";
import { median } from "../support/statistics.mjs";

/** @import { Connection, Done, Scenario, Worker, WorkerSelf } from "../support/contracts.js" */

/** @type {Scenario} */
export const lonePairWatched = {
  name: "lone-pair-watched",
  title: "One task with one lock, with all diagnostics channels subscribed and with none",
  about:
    "Two processes do 100 pairs each in turn: one has a subscriber for each channel of `events`, and for each part of its tracing channels, the other has none. The ratio is the median over such rounds: it says what is left of the speed when everything is told.",
  columns: [
    { metric: "unwatchedPerSecond", heading: "lock + unlock, pairs/s" },
    { metric: "perSecond", heading: "with all channels subscribed" },
    { metric: "toUnwatched", heading: "to the one without", digits: 3 },
  ],
  tries: "acquiring",
  contestants: (libraries) =>
    libraries.filter(({ role, variant }) => role === "ours" && variant === undefined),

  async measure(stage, { quick, forMs }) {
    const [unwatched, watched] = [await stage.worker(), await stage.worker()];
    await watched.order("watch");
    for (let round = 0; round < warmUpBatches(quick); round += 1) {
      for (const worker of [unwatched, watched]) await batch(worker);
    }
    /** @type {[unwatchedMs: number, watchedMs: number][]} */
    const rounds = [];
    const endMs = performance.now() + forMs;
    while (rounds.length === 0 || performance.now() < endMs) {
      const firstMs = await batch(rounds.length % 2 === 0 ? unwatched : watched);
      const secondMs = await batch(rounds.length % 2 === 0 ? watched : unwatched);
      rounds.push(rounds.length % 2 === 0 ? [firstMs, secondMs] : [secondMs, firstMs]);
    }
    return {
      unwatchedPerSecond: perSecond(rounds.map(([unwatchedMs]) => unwatchedMs)),
      perSecond: perSecond(rounds.map(([, watchedMs]) => watchedMs)),
      toUnwatched: median(rounds.map(([unwatchedMs, watchedMs]) => unwatchedMs / watchedMs)),
    };
  },

  orders: {
    /**
     * Subscribes to all channels.
     *
     * @param {Connection} _
     * @param {object} __
     * @param {WorkerSelf} worker
     */
    async watch(_, __, { settings }) {
      const { events } = await builtModule(settings, ".");
      const listener = () => {};
      const parts = {
        start: listener,
        end: listener,
        asyncStart: listener,
        asyncEnd: listener,
        error: listener,
      };
      for (const channel of Object.values(events)) channel.subscribe("publish" in channel ? listener : parts);
    },

    /** @param {Connection} connection */
    batch: (connection) => new Contestant(connection, "lone-pair").batch(),
  },
};

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
