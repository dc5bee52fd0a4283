/** @import { Redis } from "ioredis" */

/**
 * @typedef {object} Entry what a server of Redis has spent up to now
 * @property {number} bytes `used_memory` without that of connections
 * @property {number} connectionBytes `mem_clients_normal`: of connections and their buffers, which are kept for two seconds of rest
 * @property {number} connections of clients
 * @property {number} scripts how many it ran
 * @property {number} scriptUs inside them
 */

/**
 * Reads what the server has, over a connection of its own.
 *
 * @param {number} port
 */
export async function openLedger(port) {
  const { Redis } = await import("ioredis");
  const redis = new Redis({ host: "127.0.0.1", port });
  // The first answer is the largest that this connection ever has.
  await readEntry(redis);
  return {
    read: () => readEntry(redis),

    /**
     * Of one connection that listens to so many channels, named as those of clients that wait.
     *
     * @param {number} channels
     */
    async bytesPerSubscription(channels) {
      const listener = redis.duplicate();
      await listener.ping();
      const before = await readEntry(redis);
      for (let i = 0; i < channels; i += 1) {
        await listener.subscribe(`redisson_lock__channel:{held:${i}}:319b0b1c-6f0a-8001-9d8e-0123456789ab`);
      }
      const after = await readEntry(redis);
      listener.disconnect();
      return (after.bytes - before.bytes) / channels;
    },

    close: () => redis.disconnect(),
  };
}

/**
 * @param {Redis} redis
 * @returns {Promise<Entry>}
 */
async function readEntry(redis) {
  const [memory, clients, stats] = await Promise.all(
    ["memory", "clients", "commandstats"].map((part) => redis.info(part)),
  );
  const [, calls, us] = /^cmdstat_evalsha:calls=(\d+),usec=(\d+)/m.exec(stats ?? "") ?? [];
  const connectionBytes = Number(/^mem_clients_normal:(\d+)/m.exec(memory ?? "")?.[1]);
  return {
    bytes: Number(/^used_memory:(\d+)/m.exec(memory ?? "")?.[1]) - connectionBytes,
    connectionBytes,
    connections: Number(/^connected_clients:(\d+)/m.exec(clients ?? "")?.[1]),
    scripts: Number(calls ?? 0),
    scriptUs: Number(us ?? 0),
  };
}
