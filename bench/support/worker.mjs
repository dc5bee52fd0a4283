// A process that has one client of a library and does what the scenario orders. Started by worker-process.mjs.

import { findLibrary, findScenario } from "./catalogue.mjs";

const { scenario: scenarioName, library: libraryName, settings } = JSON.parse(process.argv[2] ?? "{}");
const scenario = findScenario(scenarioName);
const library = findLibrary(scenario, libraryName);
const connection = await library.open(settings);

process.on("message", (/** @type {{ id: number, order: string, options: never }} */ message) => {
  void obey(message);
});
// Without the main process there is nobody to measure for.
process.on("disconnect", () => process.exit());
await tell({ event: "ready" });

/** @param {{ id: number, order: string, options: never }} message */
async function obey({ id, order, options }) {
  const handler = scenario.orders[order];
  try {
    if (handler === undefined) throw new Error(`no order ${order} in ${scenario.name}`);
    const before = process.cpuUsage();
    const value = await handler(connection, options, {
      port: settings.port,
      settings,
      open: () => library.open(settings),
      announce: (event) => tell({ event }),
    });
    const { user, system } = process.cpuUsage(before);
    await tell({ id, value, cpuUs: user + system });
  } catch (error) {
    await tell({ id, error: error instanceof Error ? `${error.stack}` : String(error) });
  }
}

/**
 * @param {object} message
 * @returns {Promise<void>}
 */
function tell(message) {
  return new Promise((resolve) => {
    process.send?.(message, undefined, {}, () => resolve());
  });
}
