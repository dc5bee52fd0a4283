import { findProgram } from "./find-program.mjs";
import { freePort } from "./free-port.mjs";
import { startServer, temporaryFolder } from "./server-process.mjs";

/** @import { Redis } from "ioredis" */
/** @import { CommandCounts, Library } from "./contracts.js" */
/** @import { RunningServer, ServerKind } from "./servers.mjs" */

/** What no script calls, so that a client must have sent it. */
const ONLY_SENT = new Set([
  "eval",
  "evalsha",
  "ping",
  "subscribe",
  "unsubscribe",
  "ssubscribe",
  "sunsubscribe",
]);
const MAX_PORTS = 5;
const RECONNECT_MS = 5;

/**
 * A server of Redis that nobody else uses: what it counts is what a run has done.
 *
 * @type {ServerKind}
 */
export const redisServer = {
  name: "Redis",
  shared: false,

  obstacle() {
    return findServer() === undefined ? "there is no redis-server or valkey-server on PATH" : undefined;
  },

  async start() {
    for (let tries = 1; ; tries += 1) {
      try {
        return await startOn(await freePort());
      } catch (error) {
        // Somebody else may have taken the port since we looked at it.
        if (tries === MAX_PORTS) throw error;
      }
    }
  },
};

/**
 * @param {number} port
 * @returns {Promise<RunningServer>}
 */
async function startOn(port) {
  const { Redis } = await import("ioredis");
  const { folder, remove } = temporaryFolder();
  const client = new Redis({ host: "127.0.0.1", port, retryStrategy: () => RECONNECT_MS });
  client.on("error", () => undefined);
  const listening = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder];
  const args = [...listening, "--save", "", "--appendonly", "no"];
  // It may be another's that answers there.
  const isReady = async (/** @type {number} */ pid) =>
    client.status === "ready" && (await client.info("server")).includes(`process_id:${pid}\r\n`);
  try {
    const stop = await startServer(findServer() ?? "redis-server", args, isReady);
    return {
      port,
      version: versionIn(await client.info("server")),
      costs: () => costsOf(client),
      async stop() {
        client.disconnect();
        await stop();
        remove();
      },
    };
  } catch (error) {
    client.disconnect();
    remove();
    throw error;
  }
}

/** @param {Redis} client */
async function costsOf(client) {
  const [cpu, stats] = await Promise.all([client.info("cpu"), client.info("commandstats")]);
  const seconds = [...cpu.matchAll(/^used_cpu_(?:user|sys):([\d.]+)/gm)].map(([, value]) => Number(value));
  const calls = [...stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)];
  return {
    cpuUs: seconds.reduce((sum, value) => sum + value, 0) * 1e6,
    counts: Object.fromEntries(calls.map(([, name = "", count]) => [name.toLowerCase(), Number(count)])),
  };
}

/**
 * How many commands clients have sent between two counts.
 *
 * @param {CommandCounts} before
 * @param {CommandCounts} after
 * @param {Library} library
 */
export function commandsSent(before, after, library) {
  const names = Object.keys(after);
  const counts = Object.fromEntries(names.map((name) => [name, (after[name] ?? 0) - (before[name] ?? 0)]));
  const onlySent = names.filter((name) => ONLY_SENT.has(name));
  return onlySent.reduce((sum, name) => sum + (counts[name] ?? 0), library.sent?.(counts) ?? 0);
}

/** @param {string} info */
function versionIn(info) {
  const [, valkey] = /^valkey_version:(\S+)/m.exec(info) ?? [];
  const [, redis] = /^redis_version:(\S+)/m.exec(info) ?? [];
  return valkey === undefined ? `redis-server ${redis}` : `valkey-server ${valkey}`;
}

function findServer() {
  return findProgram("redis-server", "valkey-server");
}
