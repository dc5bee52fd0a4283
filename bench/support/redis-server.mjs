import { Redis } from "ioredis";
import { findProgram } from "./find-program.mjs";
import { freePort } from "./free-port.mjs";
import { startServer, temporaryFolder } from "./server-process.mjs";

/** @import { CommandCounts, Library } from "./contracts.js" */
/** @import { ServerKind } from "./servers.mjs" */

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
    const program = findServer();
    if (program === undefined) throw new Error("there is no redis-server");
    const port = await freePort();
    const { folder, remove } = temporaryFolder();
    const client = new Redis({ host: "127.0.0.1", port, lazyConnect: true, retryStrategy: () => 5 });
    client.on("error", () => undefined);
    const options = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder];
    const stop = await startServer(program, [...options, "--save", "", "--appendonly", "no"], () =>
      client.ping().then(
        () => true,
        () => false,
      ),
    );
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
  },
};

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
  const only = names
    .filter((name) => ONLY_SENT.has(name))
    .reduce((sum, name) => sum + (counts[name] ?? 0), 0);
  return only + (library.sent?.(counts) ?? 0);
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
