import type { Driver } from "../driver.js";
import { ScriptDriver } from "../script-driver.js";
import { wrappable } from "../wrappable.js";
import { assertUsable, isCluster, type NodeRedisCluster, type NodeRedisServer } from "./client.js";
import { NodeRedisClusterPort } from "./cluster.js";
import { NodeRedisServerPort } from "./server.js";

export type {
  NodeRedisClient,
  NodeRedisCluster,
  NodeRedisListener,
  NodeRedisNode,
  NodeRedisOwnClient,
  NodeRedisPool,
  NodeRedisSentinel,
  NodeRedisServer,
} from "./client.js";
export type {
  NodeRedisAddress,
  NodeRedisClusterOptions,
  NodeRedisOptions,
  NodeRedisReconnectStrategy,
  NodeRedisSocketOptions,
} from "./options.js";

/**
 * Runs holdfast on a client of node-redis 5 or 6, made by `createClient()`, `createClientPool()`, `createSentinel()` or `createCluster()`
 * and connected by its owner. The client stays the caller's: it is used for scripts and never closed. `duplicate()` adds connections: one
 * when holdfast first listens to messages (in a cluster with sharded messages, one for each master with a channel), and one for each master
 * whose replicas acknowledge. A pool does not keep calls in order.
 *
 * @throws TypeError if the client is not a client of node-redis, or has a `keyPrefix`
 * @example
 * const client = await createClient({ url }).connect();
 * const holdfast = new Holdfast(nodeRedisDriver(client));
 */
export function nodeRedisDriver(redis: NodeRedisServer | NodeRedisCluster): Driver {
  assertUsable(redis);
  return wrappable(
    new ScriptDriver((events) =>
      isCluster(redis) ? new NodeRedisClusterPort(redis, events) : new NodeRedisServerPort(redis, events),
    ),
  );
}
