import type { AddressMap } from "../addresses.js";

export interface NodeRedisAddress {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
}

/** The options that change what the adapter has to do. */
export interface NodeRedisOptions {
  readonly url?: string | undefined;
  readonly socket?: NodeRedisSocketOptions | undefined;
  readonly database?: number | undefined;
}

/** The options of a Sentinel's client that change what the adapter has to do. */
export interface NodeRedisSentinelOptions {
  readonly name: string;
  readonly sentinelRootNodes: readonly NodeRedisAddress[];
  readonly sentinelClientOptions?: NodeRedisOptions | undefined;
  readonly nodeAddressMap?: AddressMap;
}

export interface NodeRedisSocketOptions extends NodeRedisAddress {
  readonly path?: string | undefined;
  readonly tls?: boolean | undefined;
  readonly reconnectStrategy?: NodeRedisReconnectStrategy | undefined;
}

export type NodeRedisReconnectStrategy =
  | number
  | false
  | ((retries: number, cause: Error) => number | false | Error);

/** The options of a cluster that change what the adapter has to do. */
export interface NodeRedisClusterOptions {
  readonly rootNodes: readonly NodeRedisOptions[];
  readonly defaults?: NodeRedisOptions | undefined;
  readonly nodeAddressMap?: AddressMap;
}
