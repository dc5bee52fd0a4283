import type { EventEmitter, errorMonitor } from "node:events";
import { type AddressMap, inUrl } from "../addresses.js";
import { assertShape } from "../shape.js";
import { type StartupNode, startupNodesOf, TESTED } from "./unofficial.js";

/**
 * What the adapter uses of ioredis' `Redis`. A structural type, so that ioredis 5 and 6 and its fork iovalkey all fit and none of them is
 * imported.
 */
export interface IoredisClient extends IoredisConnection, IoredisScripts {
  readonly isCluster: boolean;
  readonly mode: string;
  readonly options: IoredisOptions;
  /** A new client with this client's options, overridden by the given ones. */
  duplicate(options: object): IoredisOwnClient;
}

/** What the adapter uses of ioredis' `Cluster`. */
export interface IoredisCluster extends Pick<EventEmitter, "off">, IoredisScripts {
  readonly isCluster: boolean;
  readonly status: string;
  readonly options: IoredisClusterOptions;
  /** For each slot the addresses of its servers, "host:port", the master first. */
  readonly slots: readonly (readonly string[] | undefined)[];
  nodes(role: "all" | "master"): readonly IoredisNode[];
  connect(): Promise<void>;
  refreshSlotsCache(callback: (error?: unknown) => void): void;
  on(event: "ready" | "end" | "refresh", listener: () => void): unknown;
  on(event: "+node" | "-node", listener: (node: IoredisNode) => void): unknown;
  on(event: "node error", listener: (error: Error) => void): unknown;
}

/** One server of a cluster. */
export interface IoredisNode
  extends Pick<IoredisConnection, "on" | "off" | "status" | "stream">,
    IoredisScripts {
  readonly options: IoredisOptions;
  duplicate(options: object): IoredisOwnClient;
  call(command: string, ...args: string[]): Promise<unknown>;
}

interface IoredisScripts {
  eval(script: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
  evalsha(sha1: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
}

/** What the adapter uses of the clients that it opens itself. */
export interface IoredisOwnClient extends IoredisConnection {
  disconnect(): void;
  call(command: string, ...args: string[]): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  ssubscribe(channel: string): Promise<unknown>;
  sunsubscribe(channel: string): Promise<unknown>;
}

export interface IoredisConnection extends Pick<EventEmitter, "off"> {
  readonly status: string;
  readonly stream?: IoredisStream | undefined;
  connect(): Promise<void>;
  on(event: "message" | "smessage", listener: (channel: string, message: string) => void): unknown;
  on(event: "error" | typeof errorMonitor, listener: (error: Error) => void): unknown;
  on(event: "connect" | "ready" | "close" | "end" | "moved", listener: () => void): unknown;
}

export interface IoredisStream {
  readonly destroyed: boolean;
  /** The error that broke the stream. */
  readonly errored?: Error | null | undefined;
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  unref(): unknown;
  destroy(error?: Error): unknown;
  once(event: "close", listener: () => void): unknown;
}

/** The options that change what the adapter has to do. */
export interface IoredisOptions {
  readonly keyPrefix?: string | undefined;
  readonly stringNumbers?: boolean | undefined;
  readonly autoResendUnfulfilledCommands?: boolean | undefined;
  readonly retryStrategy?: ((times: number) => unknown) | null | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly path?: string | undefined;
  readonly db?: number | undefined;
  readonly tls?: object | undefined;
  readonly name?: string | undefined;
  readonly family?: number | undefined;
  readonly role?: string | undefined;
  readonly sentinels?:
    | readonly { readonly host?: string; readonly port?: number; readonly family?: number }[]
    | null
    | undefined;
  readonly sentinelUsername?: string | null | undefined;
  readonly sentinelPassword?: string | null | undefined;
  readonly sentinelTLS?: object | undefined;
  readonly sentinelMaxConnections?: number | undefined;
  readonly enableTLSForSentinelMode?: boolean | undefined;
  readonly natMap?: AddressMap;
}

/** The options of a cluster that change what the adapter has to do. */
export interface IoredisClusterOptions {
  readonly keyPrefix?: string | undefined;
  readonly redisOptions?: Pick<IoredisOptions, "stringNumbers"> | undefined;
  readonly clusterRetryStrategy?: ((times: number) => unknown) | null | undefined;
  readonly natMap?: AddressMap;
}

/** The members that the adapter needs in a client. */
const MEMBERS = ["eval", "evalsha", "options", "connect", "on", "off"];
const SERVER_MEMBERS = [...MEMBERS, "duplicate", "mode", "status"];
const CLUSTER_MEMBERS = [...MEMBERS, "nodes", "slots", "refreshSlotsCache", "status"];

/** Throws a TypeError, with advice, for a value that is not a client of ioredis, and for a client that would break the protocol. */
export function assertUsable(redis: IoredisClient | IoredisCluster): void {
  if (typeof redis?.evalsha !== "function") {
    const way = "as in ioredisDriver(new Redis(url))";
    throw new TypeError(
      `ioredisDriver needs a Redis or Cluster client of ioredis, ${way}, got ${kindOf(redis)}`,
    );
  }
  const members = isCluster(redis) ? CLUSTER_MEMBERS : SERVER_MEMBERS;
  assertShape(redis, { adapter: "ioredisDriver", tested: TESTED, members });
  const { keyPrefix } = redis.options;
  if (keyPrefix) {
    throw new TypeError(
      `ioredisDriver refuses a client with keyPrefix "${keyPrefix}": ioredis prefixes keys but not channels and ` +
        "not the names inside scripts, so waiters would not be woken. Use the nameMapper option of Holdfast instead",
    );
  }
  const options = isCluster(redis) ? (redis.options.redisOptions ?? {}) : redis.options;
  if (options.stringNumbers) {
    throw new TypeError(
      "ioredisDriver refuses a client with stringNumbers: it hides which answers are integers. " +
        "Pass a client without it, such as redis.duplicate({ stringNumbers: false })",
    );
  }
  if (!isCluster(redis) && redis.mode !== "normal") {
    throw new TypeError(
      `ioredisDriver refuses a client in ${redis.mode} mode: it cannot run scripts. Pass redis.duplicate()`,
    );
  }
}

export function isCluster(redis: IoredisClient | IoredisCluster): redis is IoredisCluster {
  return redis.isCluster;
}

function kindOf(value: unknown): string {
  if (value === null || typeof value !== "object")
    return value === undefined ? "nothing" : `a ${typeof value}`;
  if ("then" in value) return "a promise: await it";
  return "evalSha" in value
    ? 'a client of node-redis: use nodeRedisDriver of "holdfast/node-redis"'
    : `another object; tested with ${TESTED}`;
}

/** Names the server as in a URL, without credentials. */
export function serverName({ tls, path, sentinels, name = "", host, port, db = 0 }: IoredisOptions): string {
  if (sentinels?.length) {
    const hosts = sentinels.map((one) => inUrl(one.host, one.port ?? 26_379));
    return `redis+sentinel://${hosts.join(",")}/${name}/${db}`;
  }
  if (path) return `redis+unix://${path}/${db}`;
  return `${tls ? "rediss" : "redis"}://${inUrl(host, port)}/${db}`;
}

/** Names a cluster by the servers that its client was given, without credentials. */
export function clusterName(cluster: IoredisCluster): string {
  return `redis+cluster://${startupNodesOf(cluster).map(startupAddress).join(",")}`;
}

function startupAddress(node: StartupNode): string {
  if (typeof node === "number") return inUrl(undefined, node);
  if (typeof node === "object") return inUrl(node.host, node.port);
  return node.replace(/^rediss?:\/\//, "").replace(/^.*@/, "");
}
