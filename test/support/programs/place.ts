import { Cluster, Redis } from "ioredis";
import { quickEnd } from "../clients/ioredis-clients.js";

/** Where the servers are; all ports are those of 127.0.0.1. */
export type Place =
  | { readonly topology: "standalone"; readonly port: number }
  | {
      readonly topology: "sentinel";
      readonly sentinels: readonly { readonly host: string; readonly port: number }[];
      readonly name: string;
    }
  | { readonly topology: "cluster"; readonly ports: readonly number[] };

/** A client that never gives up, and soon tries again. */
export function connectTo(place: Place): Redis | Cluster {
  const soon = () => 20;
  switch (place.topology) {
    case "standalone":
      return new Redis({ host: "127.0.0.1", port: place.port, retryStrategy: soon, ...quickEnd });
    case "sentinel": {
      const { sentinels, name: master } = place;
      const retries = { retryStrategy: soon, sentinelRetryStrategy: soon };
      return new Redis({ sentinels: [...sentinels], name: master, ...retries, ...quickEnd });
    }
    case "cluster": {
      const nodes = place.ports.map((port) => ({ host: "127.0.0.1", port }));
      return new Cluster(nodes, {
        clusterRetryStrategy: soon,
        slotsRefreshTimeout: 2_000,
        redisOptions: quickEnd,
      });
    }
  }
}
