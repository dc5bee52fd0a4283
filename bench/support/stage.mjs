import { commandsSent } from "./redis-server.mjs";
import { useServer } from "./servers.mjs";
import { startWorker } from "./worker-process.mjs";

/**
 * @typedef {object} RunOptions
 * @property {string} run
 * @property {string} dist
 * @property {import("../../src/index.js").HoldfastOptions} holdfastOptions
 * @property {number} limitMs the longest that an order may take
 */

/** Unless the scenario says otherwise: what a watchdog of 30 seconds does. */
const RENEW_EACH_MS = 10_000;

/**
 * One run of a scenario with a library: a server, and the worker processes that the scenario asks for. All of them
 * have ended when it resolves.
 *
 * @param {import("./contracts.js").Scenario} scenario
 * @param {import("./contracts.js").Library} library
 * @param {import("./contracts.js").Size} size
 * @param {RunOptions} options
 */
export async function runOnStage(scenario, library, size, { limitMs, ...options }) {
  const server = await useServer(library.server);
  /** @type {import("./contracts.js").Worker[]} */
  const workers = [];
  /** @type {import("./contracts.js").Stage} */
  const stage = {
    port: server.port,

    async workers(count, settings = {}) {
      const given = { port: server.port, renewEachMs: RENEW_EACH_MS, ...options, ...settings };
      const job = { scenario: scenario.name, library: library.name, settings: given };
      const starts = await Promise.allSettled(Array.from({ length: count }, () => startWorker(job, limitMs)));
      const started = starts.flatMap((start) => (start.status === "fulfilled" ? [start.value] : []));
      workers.push(...started);
      for (const start of starts) if (start.status === "rejected") throw start.reason;
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
    await Promise.all(workers.map((worker) => worker.stop()));
    await server.stop();
  }
}
