import type {
  NodeRedisClient,
  NodeRedisCluster,
  NodeRedisClusterOptions,
  NodeRedisSentinel,
} from "./client.js";

// What node-redis marks as its own with a "_". Each was seen in node-redis 5.12.1 and 6.3.1, but for the prefix of keys, which
// came with version 6.

/** The prefix of keys; undefined where there is none. */
export function keyPrefixOf(redis: object): string | Uint8Array | undefined {
  const { _keyPrefix: prefix } = redis as { readonly _keyPrefix?: string | Uint8Array };
  return prefix?.length ? prefix : undefined;
}

/** The options that a cluster's client was made with. */
export function optionsOf(cluster: NodeRedisCluster): NodeRedisClusterOptions {
  return (cluster as unknown as { readonly _options: NodeRedisClusterOptions })._options;
}

interface Slots {
  readonly _slots: { rediscover(startWith: NodeRedisClient | undefined): Promise<void> };
}

/** Has a cluster's client ask a node who has which slot. */
export function rediscover(cluster: NodeRedisCluster, node: NodeRedisClient | undefined): Promise<void> {
  return (cluster as unknown as Slots)._slots.rediscover(node);
}

interface Executing {
  _execute<T>(isReadonly: boolean, task: (client: NodeRedisClient) => Promise<T>): Promise<T>;
}

/** Does something with the master's client, again with another one where the connection was lost. */
export function execute<T>(
  sentinel: NodeRedisSentinel,
  task: (client: NodeRedisClient) => Promise<T>,
): Promise<T> {
  return (sentinel as unknown as Executing)._execute(false, task);
}
