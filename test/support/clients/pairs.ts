import { nodeRedisDriver } from "../../../src/driver/node-redis/index.js";
import { valkeyGlideDriver } from "../../../src/driver/valkey-glide/index.js";
import type { Topology } from "../servers/topologies.js";
import { ioredisPairs } from "./ioredis-pairs.js";
import {
  type Connectable,
  destroyClient as destroyNodeRedis,
  type Version,
  versions,
} from "./node-redis-clients.js";
import type { AnyPair, ConnectedClient } from "./pair.js";
import {
  glideClient,
  glideClusterClient,
  glideClusterSubscriber,
  glideSubscriber,
} from "./valkey-glide-clients.js";

/** As many connections as a pool has. */
const POOL = 3;

/** What is claimed. */
export const pairs: readonly AnyPair[] = [...ioredisPairs, ...versions.flatMap(ofNodeRedis), ...ofGlide()];

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
  { client: "GLIDE", topology: "sentinel", reason: "it does not support Sentinels" },
  ...versions.flatMap(({ version }) =>
    (["sentinel", "cluster"] as const).map((topology) => ({
      client: `node-redis ${version}, a pool`,
      topology,
      reason: "it is a pool of connections to one server",
    })),
  ),
];
