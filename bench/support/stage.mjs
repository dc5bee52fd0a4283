import { commandsSent } from "./redis-server.mjs";
import { useServer } from "./servers.mjs";
import { startWorker } from "./worker-process.mjs";

/** @import { HoldfastOptions } from "../../src/index.js" */
/** @import { Library, Scenario, Size, Stage, Worker } from "./contracts.js" */

/**
 * @typedef {object} RunOptions
 * @property {string} run
 * @property {string} dist
 * @property {HoldfastOptions} holdfastOptions
 * @property {number} limitMs the longest that an order may take
 */

/** Unless the scenario says otherwise: what a watchdog of 30 seconds does. */
const RENEW_EACH_MS = 10_000;

/**
 * One run of a scenario with a library: a server, and the worker processes that the scenario asks for. All of them
 * have ended when it resolves.
 *
 * @param {Scenario} scenario
 * @param {Library} library
 * @param {Size} size
 * @param {RunOptions} options
 */
export async function runOnStage(scenario, library, size, { limitMs, ...options }) {
  const server = await useServer(library.server);
  /** @type {Promise<Worker>[]} */
  const workers = [];
  /** @type {Stage} */
  const stage = {
    port: server.port,

    worker(settings = {}) {
      const holdfastOptions = { ...options.holdfastOptions, ...settings.holdfastOptions };
      const given = {
        port: server.port,
        renewEachMs: RENEW_EACH_MS,
        ...options,
        ...settings,
        holdfastOptions,
      };
      const job = { scenario: scenario.name, library: library.name, settings: given };
      const started = startWorker(job, limitMs);
      workers.push(started);
      return started;
    },

    async measure(body) {
      const before = await server.costs?.();
      const startMs = performance.now();
      const value = await body();
      const tookMs = performance.now() - startMs;
      const after = await server.costs?.();
      if (before === undefined || after === undefined) return { value, tookMs };
      const commands = commandsSent(before.counts, after.counts, library);
      return { value, tookMs, commands, serverCpuUs: after.cpuUs - before.cpuUs };
    },
  };
  try {
    return { metrics: await scenario.measure(stage, size, library), server: server.version };
  } finally {
    // One that has failed to start has ended; the others may still be on their way.
    await Promise.allSettled(workers.map(async (worker) => (await worker).stop()));
    await server.stop();
  }
}
