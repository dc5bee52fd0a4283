import { createClient, createClientPool, createCluster, createSentinel } from "redis";
import {
  createClient as createClient5,
  createClientPool as createClientPool5,
  createCluster as createCluster5,
  createSentinel as createSentinel5,
} from "redis5";
import type {
  NodeRedisClient,
  NodeRedisCluster,
  NodeRedisPool,
  NodeRedisSentinel,
} from "../../../src/driver/node-redis/index.js";

/** What the clients of all versions and kinds have in common. */
export interface Connectable {
  readonly isOpen: boolean;
  connect(): Promise<unknown>;
  close(): Promise<void>;
  destroy(): unknown;
  on(event: string, listener: (error: Error) => void): unknown;
}

export interface GrowingPool extends NodeRedisPool, Connectable {
  readonly isOpen: boolean;
  on(event: string | symbol, listener: (error: Error) => void): unknown;
  readonly totalClients: number;
}

/** The options of a client that tests set. */
export interface ClientOptions {
  readonly url?: string;
  readonly RESP?: 2 | 3;
  readonly database?: number;
  readonly username?: string;
  readonly password?: string;
  readonly keyPrefix?: string;
  readonly disableOfflineQueue?: boolean;
  readonly commandOptions?: { readonly timeout?: number };
  readonly socket?: {
    readonly host?: string;
    readonly port?: number;
    readonly path?: string;
    readonly tls?: boolean;
    readonly ca?: string;
    readonly cert?: string;
    readonly key?: string;
    readonly connectTimeout?: number;
    readonly reconnectStrategy?: false | ((retries: number) => number | false);
  };
}

export interface PoolSize {
  readonly minimum: number;
  readonly maximum: number;
  readonly cleanupDelay?: number;
}

export interface SentinelOptions {
  readonly name: string;
  readonly sentinelRootNodes: { readonly host: string; readonly port: number }[];
  readonly reserveClient?: boolean;
  readonly RESP?: 2 | 3;
  readonly nodeClientOptions?: ClientOptions;
  readonly sentinelClientOptions?: ClientOptions;
}

export interface ClusterOptions {
  readonly rootNodes: ClientOptions[];
  readonly RESP?: 2 | 3;
  readonly useReplicas?: boolean;
  readonly minimizeConnections?: boolean;
  readonly defaults?: ClientOptions;
}

/** A version of node-redis, whose types depend on the options in ways that tests of all versions can not follow. */
export interface Version {
  readonly version: number;
  client(options: ClientOptions): NodeRedisClient & Connectable;
  /** One that has grown leaves a timer behind when it is destroyed, which then throws in version 5. */
  pool(options: ClientOptions, size: PoolSize): GrowingPool;
  sentinel(options: SentinelOptions): NodeRedisSentinel & Connectable;
  cluster(options: ClusterOptions): NodeRedisCluster & Connectable;
}

export const versions: readonly [Version, Version] = [
  {
    version: 6,
    client: (options) => createClient(options as object) as unknown as NodeRedisClient & Connectable,
    pool: (options, size) => createClientPool(options as object, size) as unknown as GrowingPool,
    sentinel: (options) => createSentinel(options as never) as unknown as NodeRedisSentinel & Connectable,
    cluster: (options) => createCluster(options as never) as unknown as NodeRedisCluster & Connectable,
  },
  {
    version: 5,
    client: (options) => createClient5(options as object) as unknown as NodeRedisClient & Connectable,
    pool: (options, size) => createClientPool5(options as object, size) as unknown as GrowingPool,
    sentinel: (options) => createSentinel5(options as never) as unknown as NodeRedisSentinel & Connectable,
    cluster: (options) => createCluster5(options as never) as unknown as NodeRedisCluster & Connectable,
  },
];

/** Ends a client of any kind at once, also when its server is stopped or gone. */
export async function destroyClient(client: Connectable): Promise<void> {
  client.on("error", () => undefined);
  if (client.isOpen) await client.destroy();
}
