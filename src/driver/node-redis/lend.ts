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

/** Clients are lent in the order of the calls, except by a pool. Counts lost connections of a Sentinel's clients, which emit no event. */
export function lendOf(redis: NodeRedisServer, losses: ConnectionLosses): Lend {
  if (isSentinel(redis)) return lendOfSentinel(redis, losses);
  if (isPool(redis)) return lendOfPool(redis);
  return (use) => use(redis);
}

/** It may connect for it, and that connection outlives the call. */
function lendOfPool(pool: NodeRedisPool): Lend {
  return <T>(use: (client: NodeRedisClient) => Promise<T>) =>
    inRootContext(() => pool.execute(use) as Promise<T>);
}

/**
 * Calls of node-redis share the master's client while one is under way. While none is, each call of a turn asks for a client of its
 * own, and those that get none wait until all calls with one, later ones too, are done. So a call waits here until the one before
 * it has a client: calls keep their order.
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
      // It may connect for it, and that connection outlives the call.
      return await inRootContext(() =>
        execute(sentinel, (client: NodeRedisClient) => {
          // Both the last client, which may have been replaced since, and this one.
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
