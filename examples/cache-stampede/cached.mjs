// @ts-check
// #region cache
import { singleFlight } from "holdfast/recipes";

/**
 * @template V
 * @param {{ holdfast: import("holdfast").Holdfast, redis: import("ioredis").Redis }} clients
 * @param {string} key in the cache
 * @param {(signal: AbortSignal) => Promise<V>} load makes the value, which is expensive
 * @returns {Promise<V>}
 */
export function cached({ holdfast, redis }, key, load) {
  return singleFlight(holdfast, `load:${key}`, {
    read: async () => {
      const text = await redis.get(key);
      return text === null ? undefined : JSON.parse(text);
    },
    load: ({ signal }) => load(signal),
    write: (value) => redis.set(key, JSON.stringify(value), "PX", 60_000),
    // More than a load takes, and the lease (`ttlMs`, two seconds) of a loader that dies.
    waitMs: 10_000,
  });
}
// #endregion
