import { inRootContext } from "../../root-context.js";
import {
  isPool,
  isSentinel,
  type NodeRedisClient,
  type NodeRedisPool,
  type NodeRedisSentinel,
  type NodeRedisServer,
} from "./client.js";
import type { ConnectionLosses } from "./losses.js";
import { execute } from "./unofficial.js";

/** Hands out a plain client for one use of it. */
export type Lend = <T>(use: (client: NodeRedisClient) => Promise<T>) => Promise<T>;

/**
 * Lends clients in the order of the calls, except from a pool. Counts the lost connections of a Sentinel's clients, as these emit no event.
 */
export function lendOf(redis: NodeRedisServer, losses: ConnectionLosses): Lend {
  if (isSentinel(redis)) return lendOfSentinel(redis, losses);
  if (isPool(redis)) return lendOfPool(redis);
  return (use) => use(redis);
}

/** Node-redis may connect for this call, and the connection outlives the call. */
function lendOfPool(pool: NodeRedisPool): Lend {
  return <T>(use: (client: NodeRedisClient) => Promise<T>) =>
    inRootContext(() => pool.execute(use) as Promise<T>);
}

/**
 * While one call uses the master's client, node-redis lets further calls share it. While no call uses it, each new call asks for a client
 * of its own. A call that has no client yet waits for all calls that have one, even for later calls. So each call waits here until the
 * previous call has a client, which keeps the calls in order.
 */
function lendOfSentinel(sentinel: NodeRedisSentinel, losses: ConnectionLosses): Lend {
  let last: Promise<void> = Promise.resolve();
  let lent: NodeRedisClient | undefined;
  return async (use) => {
    const before = last;
    let next = () => {};
    last = new Promise((resolve) => {
      next = resolve;
    });
    await before;
    try {
      // Node-redis may connect for this call, and the connection outlives the call.
      return await inRootContext(() =>
        execute(sentinel, (client: NodeRedisClient) => {
          // Looks at the last client, which may have been replaced, and at this client.
          if (lent !== undefined) losses.look(lent);
          losses.look(client);
          lent = client;
          const result = use(client).catch((error: unknown) => {
            losses.look(client);
            throw error;
          });
          next();
          return result;
        }),
      );
    } finally {
      next();
    }
  };
}
