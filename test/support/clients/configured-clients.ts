import { Decoder, GlideClient, GlideClusterClient, ProtocolVersion } from "@valkey/valkey-glide";
import { Cluster, Redis } from "ioredis";
import { Cluster as Cluster5, Redis as Redis5 } from "ioredis5";
import { Redis as Valkey, Cluster as ValkeyCluster } from "iovalkey";
import { type IoredisClient, type IoredisCluster, ioredisDriver } from "../../../src/driver/ioredis/index.js";
import { nodeRedisDriver } from "../../../src/driver/node-redis/index.js";
import { valkeyGlideDriver } from "../../../src/driver/valkey-glide/index.js";
import type { KeyPair } from "../servers/server-tls.js";
import { destroyClient, quickEnd } from "./ioredis-clients.js";
import {
  type Connectable,
  destroyClient as destroyNodeRedis,
  type Version,
  versions,
} from "./node-redis-clients.js";
import type { ConnectedClient } from "./pair.js";

/** Where a server is. */
export interface Place {
  readonly host?: string;
  readonly port?: number;
  /** Of a unix socket, instead. */
  readonly path?: string;
}

/** What a user of a Redis client sets for its connections. */
export interface ConnectionSettings {
  /** The authority that the server's certificate is of, and what to show to the server. */
  readonly tls?: { readonly ca: string } & Partial<KeyPair>;
  readonly username?: string;
  readonly password?: string;
  readonly db?: number;
  readonly protocol?: 2 | 3;
}

/** What else is set where Sentinels tell of the master. */
export interface WatchedPlace {
  readonly name: string;
  readonly sentinels: readonly Required<Omit<Place, "path">>[];
  /** For the connections to the Sentinels. */
  readonly user: Pick<ConnectionSettings, "username" | "password">;
}

/** A Redis client that connects as it is told. */
export interface ConfiguredClient {
  readonly name: string;
  /** Whether replicas acknowledge what it writes, which takes connections of holdfast's own. */
  readonly acknowledges: boolean;
  /** Whether it connects by itself when it is needed, so that holdfast tells why it could not. */
  readonly connectsItself: boolean;
  /** Whether it can show the server a certificate of its own. */
  readonly showsCertificates: boolean;
  /** Whether holdfast listens to Sentinels itself. */
  readonly listensToSentinels: boolean;
  /** The versions of RESP that its connections and holdfast's speak, where one was chosen. */
  speaks(chosen: 2 | 3): readonly number[];
  server(place: Place, settings: ConnectionSettings): Promise<ConnectedClient>;
  /** By a URL that says all but what TLS needs. Not there where it takes none. */
  url?(url: string, settings: Pick<ConnectionSettings, "tls">): Promise<ConnectedClient>;
  /** Not there where it knows no Sentinels. */
  sentinel?(place: WatchedPlace, settings: ConnectionSettings): Promise<ConnectedClient>;
  cluster(nodes: readonly Place[], settings: ConnectionSettings): Promise<ConnectedClient>;
}

/** Of a version of ioredis, or of iovalkey, whose types differ in what does not matter here. */
interface IoredisLibrary {
  readonly Redis: new (
    ...options: [url: string, object] | [object]
  ) => IoredisClient & Parameters<typeof destroyClient>[0];
  readonly Cluster: new (nodes: object[], options: object) => IoredisCluster & { disconnect(): void };
}

function ofIoredis(name: string, library: object, newestProtocol: number): ConfiguredClient {
  const { Redis, Cluster } = library as IoredisLibrary;
  const common = { retryStrategy: () => 20, sentinelRetryStrategy: () => 20, ...quickEnd };
  const connected = (redis: InstanceType<IoredisLibrary["Redis"]>): ConnectedClient => {
    redis.on("error", () => undefined);
    return { drive: () => ioredisDriver(redis), end: () => destroyClient(redis) };
  };
  return {
    name,
    acknowledges: true,
    connectsItself: true,
    showsCertificates: true,
    listensToSentinels: true,
    speaks: (chosen) => [Math.min(chosen, newestProtocol)],
    server: async (place, settings) => connected(new Redis({ ...common, ...place, ...settings })),
    url: async (url, settings) => connected(new Redis(url, { ...common, ...settings })),
    sentinel: async ({ user, ...place }, settings) =>
      connected(
        new Redis({
          ...common,
          ...place,
          ...settings,
          sentinelUsername: user.username,
          sentinelPassword: user.password,
          sentinelTLS: settings.tls,
          enableTLSForSentinelMode: settings.tls !== undefined,
        }),
      ),
    async cluster(nodes, settings) {
      const cluster = new Cluster([...nodes], {
        redisOptions: { ...quickEnd, ...settings },
        slotsRefreshTimeout: 5_000,
        clusterRetryStrategy: () => 20,
      });
      return { drive: () => ioredisDriver(cluster), end: async () => cluster.disconnect() };
    },
  };
}

function ofNodeRedis({ version, ...make }: Version): ConfiguredClient {
  const socketOf = (place: Place, { tls }: ConnectionSettings) => ({
    ...place,
    ...(tls && { tls: true, ...tls }),
    reconnectStrategy: () => 20,
  });
  const optionsOf = (settings: ConnectionSettings) => ({
    ...userOf(settings),
    ...(settings.db !== undefined && { database: settings.db }),
    ...(settings.protocol && { RESP: settings.protocol }),
  });
  const connected = async <Client extends Connectable & Parameters<typeof nodeRedisDriver>[0]>(
    redis: Client,
  ): Promise<ConnectedClient> => {
    redis.on("error", () => undefined);
    await redis.connect();
    return { drive: () => nodeRedisDriver(redis), end: () => destroyNodeRedis(redis) };
  };
  return {
    name: `node-redis ${version}`,
    acknowledges: true,
    connectsItself: false,
    showsCertificates: true,
    // Version 5 does not show the password for Sentinels.
    listensToSentinels: version === 6,
    speaks: (chosen) => [chosen],
    server: (place, settings) =>
      connected(make.client({ ...optionsOf(settings), socket: socketOf(place, settings) })),
    url: (url, settings) => connected(make.client({ url, socket: socketOf({}, settings) })),
    sentinel: ({ name, sentinels, user }, settings) => {
      const { RESP, ...options } = { RESP: undefined, ...optionsOf(settings) };
      const socket = socketOf({}, settings);
      return connected(
        make.sentinel({
          name,
          sentinelRootNodes: [...sentinels],
          ...(RESP && { RESP }),
          nodeClientOptions: { ...options, socket },
          sentinelClientOptions: { ...user, socket },
        }),
      );
    },
    cluster: (nodes, settings) => {
      const { RESP, ...options } = { RESP: undefined, ...optionsOf(settings) };
      const defaults = { ...options, socket: socketOf({}, settings) };
      const rootNodes = nodes.map((place) => ({ socket: place }));
      return connected(make.cluster({ rootNodes, ...(RESP && { RESP }), defaults }));
    },
  };
}

function ofGlide(): ConfiguredClient {
  const optionsOf = (places: readonly Place[], settings: ConnectionSettings) => ({
    addresses: places.map(({ path = "", host = path, port = 0 }) => ({ host, port })),
    requestTimeout: 5_000,
    ...(settings.username !== undefined && {
      credentials: { username: settings.username, password: settings.password ?? "" },
    }),
    ...(settings.db !== undefined && { databaseId: settings.db }),
    ...(settings.tls && {
      useTLS: true,
      advancedConfiguration: { tlsAdvancedConfiguration: { rootCertificates: settings.tls.ca } },
    }),
  });
  const protocolOf = ({ protocol }: ConnectionSettings) =>
    protocol === 2 ? { protocol: ProtocolVersion.RESP2 } : {};
  const listening = { defaultDecoder: Decoder.Bytes };
  const connected = <Client extends GlideClient | GlideClusterClient>(
    redis: Client,
    subscriber: Client,
  ): ConnectedClient => ({
    drive: () => valkeyGlideDriver(redis, { subscriber }),
    end: async () => [redis, subscriber].forEach((one) => void one.close()),
  });
  return {
    name: "GLIDE",
    acknowledges: false,
    connectsItself: false,
    showsCertificates: false,
    listensToSentinels: false,
    // The one that listens needs RESP3.
    speaks: (chosen) => (chosen === 2 ? [2, 3] : [3]),
    async server(place, settings) {
      const options = optionsOf([place], settings);
      const redis = await GlideClient.createClient({ ...options, ...protocolOf(settings) });
      return connected(redis, await GlideClient.createClient({ ...options, ...listening }));
    },
    async cluster(nodes, settings) {
      const options = optionsOf(nodes, settings);
      const redis = await GlideClusterClient.createClient({ ...options, ...protocolOf(settings) });
      return connected(redis, await GlideClusterClient.createClient({ ...options, ...listening }));
    },
  };
}

function userOf({
  username,
  password,
}: ConnectionSettings): Pick<ConnectionSettings, "username" | "password"> {
  return { ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
}

export const configuredClients: readonly ConfiguredClient[] = [
  ofIoredis("ioredis 6", { Redis, Cluster }, 3),
  ofIoredis("ioredis 5", { Redis: Redis5, Cluster: Cluster5 }, 2),
  ofIoredis("iovalkey", { Redis: Valkey, Cluster: ValkeyCluster }, 2),
  ...versions.map(ofNodeRedis),
  ofGlide(),
];
