import type { Driver } from "../../src/driver/driver.js";
import { ioredisDriver } from "../../src/driver/ioredis.js";
import { destroyClient } from "./ioredis-clients.js";
import { ioredisFlavours } from "./ioredis-flavours.js";
import type { Places, Topology } from "./topologies.js";

/** A client that is connected. */
export interface ConnectedClient {
  /** A new driver on it, once the last one is closed. */
  drive(): Driver;
  end(): Promise<void>;
}

/** A Redis client on a topology that its adapter claims. */
export interface Pair<Kind extends Topology = Topology> {
  /** As in "ioredis 6". */
  readonly client: string;
  readonly topology: Kind;
  connect(place: Places[Kind]): Promise<ConnectedClient>;
}

/** Any of them, each with the place that it can connect to. */
export type AnyPair = { [Kind in Topology]: Pair<Kind> }[Topology];

/** What is claimed. */
export const pairs: readonly AnyPair[] = [
  ...ioredisFlavours.flatMap(({ name: client, redis, cluster }): AnyPair[] => {
    const onRedis = async (options: Parameters<typeof redis>[0]): Promise<ConnectedClient> => {
      const connection = redis(options);
      connection.on("error", () => undefined);
      return { drive: () => ioredisDriver(connection), end: () => destroyClient(connection) };
    };
    return [
      { client, topology: "standalone", connect: (place) => onRedis(place) },
      {
        client,
        topology: "sentinel",
        connect: ({ sentinels, name }) => onRedis({ sentinels: [...sentinels], name }),
      },
      {
        client,
        topology: "cluster",
        async connect(nodes) {
          const connection = cluster([...nodes], {});
          connection.on("error", () => undefined);
          return { drive: () => ioredisDriver(connection), end: async () => connection.disconnect() };
        },
      },
    ];
  }),
];
