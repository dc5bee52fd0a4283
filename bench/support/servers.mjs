/** @import { CommandCounts } from "./contracts.js" */

/**
 * @typedef {object} ServerKind
 * @property {string} name
 * @property {boolean} shared one for all runs, because it takes seconds to start
 * @property {() => string | undefined} obstacle why it can not be started here
 * @property {() => Promise<RunningServer>} start
 */

/**
 * @typedef {object} RunningServer
 * @property {number} port on 127.0.0.1
 * @property {string} version
 * @property {() => Promise<Costs>} [costs] up to now
 * @property {() => Promise<void>} stop
 */

/** @typedef {{ cpuUs: number, counts: CommandCounts }} Costs */

/** @type {Map<ServerKind, Promise<RunningServer>>} */
const shared = new Map();

/**
 * @param {ServerKind} kind
 * @returns {Promise<RunningServer>}
 */
export async function useServer(kind) {
  if (!kind.shared) return kind.start();
  const running = shared.get(kind) ?? kind.start();
  shared.set(kind, running);
  return { ...(await running), stop: async () => undefined };
}

export async function stopSharedServers() {
  const all = await Promise.allSettled(shared.values());
  shared.clear();
  await Promise.all(all.map((server) => (server.status === "fulfilled" ? server.value.stop() : undefined)));
}

/**
 * For what measures nothing but a process.
 *
 * @type {ServerKind}
 */
export const noServer = {
  name: "no server",
  shared: false,
  obstacle: () => undefined,
  start: async () => ({ port: 0, version: "", stop: async () => undefined }),
};
