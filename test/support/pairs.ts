import { once } from "node:events";
import type { Driver } from "../../src/driver/driver.js";
import { ioredisDriver } from "../../src/driver/ioredis.js";
import { nodeRedisDriver } from "../../src/driver/node-redis.js";
import { valkeyGlideDriver } from "../../src/driver/valkey-glide.js";
import { destroyClient } from "./ioredis-clients.js";
import { type IoredisFlavour, ioredisFlavours } from "./ioredis-flavours.js";
import {
  type Connectable,
  destroyClient as destroyNodeRedis,
  type Version,
  versions,
} from "./node-redis-clients.js";
import type { Places, Topology } from "./topologies.js";
import {
  glideClient,
  glideClusterClient,
  glideClusterSubscriber,
  glideSubscriber,
} from "./valkey-glide-clients.js";

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

/** As many connections as a pool has. */
const POOL = 3;

/** What is claimed. */
export const pairs: readonly AnyPair[] = [
  ...ioredisFlavours.flatMap(ofIoredis),
  ...versions.flatMap(ofNodeRedis),
  ...ofGlide(),
];

function ofIoredis({ name: client, redis, cluster }: IoredisFlavour): readonly AnyPair[] {
  const onRedis = async (options: Parameters<typeof redis>[0]): Promise<ConnectedClient> => {
    const connection = redis(options);
    connection.on("error", () => undefined);
    await once(connection, "ready");
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
        await once(connection, "ready");
        return { drive: () => ioredisDriver(connection), end: async () => connection.disconnect() };
      },
    },
  ];
}

function ofNodeRedis({ version, ...kinds }: Version): readonly AnyPair[] {
  const client = `node-redis ${version}`;
  const connected = async <Client extends Connectable & Parameters<typeof nodeRedisDriver>[0]>(
    redis: Client,
  ): Promise<ConnectedClient> => {
    redis.on("error", () => undefined);
    await redis.connect();
    return { drive: () => nodeRedisDriver(redis), end: () => destroyNodeRedis(redis) };
  };
  return [
    { client, topology: "standalone", connect: (socket) => connected(kinds.client({ socket })) },
    {
      client: `${client}, a pool`,
      topology: "standalone",
      connect: (socket) => connected(kinds.pool({ socket }, { minimum: POOL, maximum: POOL })),
    },
    {
      client,
      topology: "sentinel",
      connect: ({ sentinels, name }) =>
        connected(kinds.sentinel({ name, sentinelRootNodes: [...sentinels] })),
    },
    {
      client,
      topology: "cluster",
      connect: (nodes) => connected(kinds.cluster({ rootNodes: nodes.map((socket) => ({ socket })) })),
    },
  ];
}

function ofGlide(): readonly AnyPair[] {
  const client = "GLIDE";
  return [
    {
      client,
      topology: "standalone",
      async connect({ port }) {
        const [redis, subscriber] = [await glideClient(port), await glideSubscriber(port)];
        return {
          drive: () => valkeyGlideDriver(redis, { subscriber }),
          end: async () => [redis, subscriber].forEach((one) => void one.close()),
        };
      },
    },
    {
      client,
      topology: "cluster",
      async connect(nodes) {
        const ports = nodes.map(({ port }) => port);
        const redis = await glideClusterClient(ports);
        const subscriber = await glideClusterSubscriber(ports);
        return {
          drive: () => valkeyGlideDriver(redis, { subscriber }),
          end: async () => [redis, subscriber].forEach((one) => void one.close()),
        };
      },
    },
  ];
}

/** What is not claimed, and why. */
export const unclaimed: readonly {
  readonly client: string;
  readonly topology: Topology;
  readonly reason: string;
}[] = [
  { client: "GLIDE", topology: "sentinel", reason: "it knows no Sentinels" },
  ...versions.flatMap(({ version }) =>
    (["sentinel", "cluster"] as const).map((topology) => ({
      client: `node-redis ${version}, a pool`,
      topology,
      reason: "it is a pool of connections to one server",
    })),
  ),
];
