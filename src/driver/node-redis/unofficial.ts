import type { NodeRedisClusterOptions, NodeRedisSentinelOptions } from "./options.js";

// The members that node-redis marks as private with a "_". Each was seen in the tested versions, except the prefix of keys, which came with
// version 6.

export const TESTED = "node-redis 5.12.1 and 6.3.1";

/** The prefix of keys; undefined without a prefix. */
export function keyPrefixOf(redis: object): string | Uint8Array | undefined {
  const { _keyPrefix: prefix } = redis as { readonly _keyPrefix?: string | Uint8Array };
  return prefix?.length ? prefix : undefined;
}

/** The options that a cluster's client was made with. */
export function optionsOf(cluster: object): NodeRedisClusterOptions {
  return (cluster as { readonly _options: NodeRedisClusterOptions })._options;
}

/**
 * The options that a Sentinel's client was made with: `duplicate` hands them to the constructor of the client. Undefined in version 5,
 * where this client has no `duplicate`.
 */
export function sentinelOptionsOf(sentinel: object): NodeRedisSentinelOptions | undefined {
  const { duplicate, _self } = sentinel as { readonly duplicate?: () => unknown; readonly _self: object };
  if (duplicate === undefined) return undefined;
  let seen: NodeRedisSentinelOptions | undefined;
  const prototype = {
    constructor: function See(options: NodeRedisSentinelOptions) {
      seen = options;
    },
  };
  duplicate.call(Object.assign(Object.create(prototype), { _self }));
  return seen;
}

interface UnofficialSlots {
  readonly _slots: { rediscover(startWith: object | undefined): Promise<void> };
}

/** Makes a cluster's client ask a node for the slots. */
export function rediscover(cluster: object, node: object | undefined): Promise<void> {
  return (cluster as UnofficialSlots)._slots.rediscover(node);
}

interface Executing<Client> {
  _execute<T>(isReadonly: boolean, task: (client: Client) => Promise<T>): Promise<T>;
}

/** Runs a task with the master's client, and again with another client if the connection was lost. */
export function execute<Client, T>(sentinel: object, task: (client: Client) => Promise<T>): Promise<T> {
  return (sentinel as Executing<Client>)._execute(false, task);
}
