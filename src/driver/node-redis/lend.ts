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
 * In node-redis, calls share the master's client while a call is under way. Otherwise each call of a turn asks for its own client, and
 * calls without a client wait for all calls with a client, even for later calls. So a call waits here until the previous call has a client:
 * calls keep their order.
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
          // Both the last client, which may have been replaced, and this client.
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
