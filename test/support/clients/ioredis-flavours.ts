import { Cluster, Redis } from "ioredis";
import { Cluster as Cluster5, Redis as Redis5 } from "ioredis5";
import { Redis as Valkey, Cluster as ValkeyCluster } from "iovalkey";
import { quickEnd } from "./ioredis-clients.js";

type Address = { readonly host: string; readonly port: number };

/** Options that all of them have. */
interface FlavourOptions {
  readonly host?: string;
  readonly port?: number;
  readonly password?: string;
  readonly sentinels?: Address[];
  readonly name?: string;
  readonly keyPrefix?: string;
}

interface FlavourClusterOptions {
  /** Where a server is to be reached in truth, by its address. */
  readonly natMap?: Record<string, Address>;
  /** Connects with the first command. */
  readonly lazyConnect?: boolean;
  readonly keyPrefix?: string;
}

/** A library that the adapter for ioredis claims. */
export interface IoredisFlavour {
  readonly name: string;
  redis(options: FlavourOptions): Redis | Redis5 | Valkey;
  cluster(nodes: Address[], options: FlavourClusterOptions): Cluster | Cluster5 | ValkeyCluster;
}

const options = { retryStrategy: () => 5, sentinelRetryStrategy: () => 20, ...quickEnd };
const clusterOptions = {
  // After a redirection, ioredis looks for the node at the address that the server told, not at the one of `natMap`. So it
  // tries one node after the other at random until it has refreshed its slots; the default of 16 tries sometimes ends first.
  maxRedirections: 500,
  clusterRetryStrategy: () => 20,
  retryDelayOnFailover: 20,
  retryDelayOnTryAgain: 20,
  retryDelayOnClusterDown: 20,
  slotsRefreshTimeout: 2_000,
  redisOptions: quickEnd,
};

export const ioredisFlavours: readonly IoredisFlavour[] = [
  {
    name: "ioredis 6",
    redis: (given) => new Redis({ ...options, ...given }),
    cluster: (nodes, given) => new Cluster(nodes, { ...clusterOptions, ...given }),
  },
  {
    name: "ioredis 5",
    redis: (given) => new Redis5({ ...options, ...given }),
    cluster: (nodes, given) => new Cluster5(nodes, { ...clusterOptions, ...given }),
  },
  {
    name: "iovalkey",
    redis: (given) => new Valkey({ ...options, ...given }),
    cluster: (nodes, given) => new ValkeyCluster(nodes, { ...clusterOptions, ...given }),
  },
];
