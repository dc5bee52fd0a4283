import type { EventEmitter } from "node:events";
import { inUrl } from "../addresses.js";
import { assertShape } from "../shape.js";
import type { NodeRedisAddress, NodeRedisOptions } from "./options.js";
import { keyPrefixOf, optionsOf, TESTED } from "./unofficial.js";

/** What the adapter uses of a client that `createClient()` of node-redis makes. A structural type, so that nothing is imported. */
export interface NodeRedisClient extends NodeRedisEvents {
  readonly isOpen: boolean;
  readonly isReady: boolean;
  /** How many connections have been ready so far. */
  readonly socketEpoch: number;
  readonly options?: NodeRedisOptions | undefined;
  sendCommand(args: readonly string[], options: object): Promise<unknown>;
  /** A new client with this client's options, overridden by the given ones. */
  duplicate(options: object): NodeRedisOwnClient;
}

/** What the adapter uses of a pool that `createClientPool()` makes. */
export interface NodeRedisPool extends NodeRedisEvents {
  readonly isOpen: boolean;
  readonly idleClients: number;
  /** Runs the task at once if a client is idle. */
  execute<T>(task: (client: NodeRedisClient) => T): Promise<Awaited<T>>;
}

/** What the adapter uses of a client that `createSentinel()` makes. */
export interface NodeRedisSentinel extends NodeRedisEvents {
  readonly isOpen: boolean;
  getMasterNode(): NodeRedisAddress | undefined;
  getSentinelNode(): NodeRedisAddress | undefined;
}

/** What the adapter uses of a client that `createCluster()` makes. */
export interface NodeRedisCluster extends NodeRedisEvents {
  readonly isOpen: boolean;
  readonly slots: readonly ({ readonly master: NodeRedisNode } | undefined)[];
  readonly masters: readonly NodeRedisNode[];
  /** By "host:port". */
  readonly nodeByAddress: ReadonlyMap<string, NodeRedisNode>;
  /** The client of a node; made if there is none yet. */
  nodeClient(node: NodeRedisNode): Promise<NodeRedisClient>;
  sendCommand(
    key: string | undefined,
    isReadonly: boolean,
    args: string[],
    options: object,
  ): Promise<unknown>;
}

/** One server of a cluster. */
export interface NodeRedisNode {
  readonly address: string;
  /** With the option `minimizeConnections`, undefined until a command needs it. */
  readonly client?: NodeRedisClient | undefined;
}

/** What the adapter uses of the clients that it opens itself. */
export interface NodeRedisOwnClient {
  readonly isOpen: boolean;
  connect(): Promise<unknown>;
  destroy(): void;
  unref(): void;
  sendCommand(args: readonly string[], options: object): Promise<unknown>;
  subscribe(channel: string, listener: NodeRedisListener): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  sSubscribe(channel: string, listener: NodeRedisListener): Promise<unknown>;
  sUnsubscribe(channel: string): Promise<unknown>;
  on(event: "connect" | "sharded-channel-moved", listener: () => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
}

export type NodeRedisListener = (message: string, channel: string) => void;

interface NodeRedisEvents extends Pick<EventEmitter, "off" | "eventNames"> {
  on(event: string | symbol, listener: (error: Error) => void): unknown;
}

/** Runs commands on one server at a time. */
export type NodeRedisServer = NodeRedisClient | NodeRedisPool | NodeRedisSentinel;

/** The members that the adapter needs in a client, besides the members by which it knows the kind. */
const MEMBERS = ["on", "off", "eventNames"];
const SERVER_MEMBERS = [...MEMBERS, "isReady", "sendCommand", "duplicate"];
const POOL_MEMBERS = [...MEMBERS, "execute"];
const SENTINEL_MEMBERS = [...MEMBERS, "getSentinelNode", "_execute"];
const CLUSTER_MEMBERS = [...MEMBERS, "slots", "masters", "nodeClient", "sendCommand", "_options", "_slots"];

/** Throws a TypeError, with advice, for a value that is not a client of node-redis, and for a client that would break the protocol. */
export function assertUsable(redis: NodeRedisServer | NodeRedisCluster): void {
  if (!isOneOf(redis)) {
    const way = "as in nodeRedisDriver(createClient({ url }))";
    throw new TypeError(
      `nodeRedisDriver needs a client, pool, Sentinel client or cluster of node-redis, ${way}, got ${kindOf(redis)}`,
    );
  }
  assertShape(redis, { adapter: "nodeRedisDriver", tested: TESTED, members: membersOf(redis) });
  // The prefix is among the options, which only some kinds of clients show.
  const keyPrefix = keyPrefixOf(redis);
  if (keyPrefix !== undefined) {
    throw new TypeError(
      `nodeRedisDriver refuses a client with keyPrefix "${keyPrefix}": node-redis prefixes keys but not channels and ` +
        "not the names inside scripts, so waiters would not be woken. Use the nameMapper option of Holdfast instead",
    );
  }
}

export function isCluster(redis: NodeRedisServer | NodeRedisCluster): redis is NodeRedisCluster {
  return "nodeByAddress" in redis;
}

export function isSentinel(redis: NodeRedisServer): redis is NodeRedisSentinel {
  return "getMasterNode" in redis;
}

export function isPool(redis: NodeRedisServer): redis is NodeRedisPool {
  return "idleClients" in redis;
}

function membersOf(redis: NodeRedisServer | NodeRedisCluster): readonly string[] {
  if (isCluster(redis)) return CLUSTER_MEMBERS;
  if (isSentinel(redis)) return SENTINEL_MEMBERS;
  return isPool(redis) ? POOL_MEMBERS : SERVER_MEMBERS;
}

function isOneOf(redis: NodeRedisServer | NodeRedisCluster): boolean {
  if (redis === null || typeof redis !== "object" || !("isOpen" in redis)) return false;
  return isCluster(redis) || isSentinel(redis) || isPool(redis) || "socketEpoch" in redis;
}

function kindOf(value: unknown): string {
  if (value === null || typeof value !== "object")
    return value === undefined ? "nothing" : `a ${typeof value}`;
  if ("then" in value) return "a promise: await it";
  return "evalsha" in value
    ? 'a client of ioredis: use ioredisDriver of "holdfast/ioredis"'
    : `another object; tested with ${TESTED}`;
}

/**
 * Names the server as in a URL, without credentials. A client that does not show its server gets a number instead: a lock made of several
 * locks must not take two servers for the same server.
 */
export function serverName(redis: NodeRedisServer): string {
  if (isSentinel(redis)) {
    const sentinel = redis.getSentinelNode();
    // The client does not show the name of its master.
    return `redis+sentinel://${sentinel ? nodeName(sentinel) : "unknown"}#${numberOf(redis)}`;
  }
  const options = isPool(redis) ? memberOptions(redis) : (redis.options ?? {});
  if (options === undefined) return `redis://unknown#${numberOf(redis)}`;
  const { socket = {}, database = 0 } = options;
  if (socket.path) return `redis+unix://${socket.path}/${database}`;
  return `${socket.tls ? "rediss" : "redis"}://${nodeName(socket)}/${database}`;
}

const numbers = new WeakMap<object, number>();
let latestNumber = 0;

function numberOf(client: object): number {
  const number = numbers.get(client) ?? ++latestNumber;
  numbers.set(client, number);
  return number;
}

/** Names a cluster by the servers that its client was given, without credentials. */
export function clusterName(cluster: NodeRedisCluster): string {
  const { rootNodes, defaults } = optionsOf(cluster);
  const names = rootNodes.map(({ url, socket }) => {
    const place = url === undefined ? undefined : new URL(url);
    return place?.host || nodeName({ ...defaults?.socket, ...socket });
  });
  return `redis+cluster://${names.join(",")}`;
}

export function nodeName({ host, port }: NodeRedisAddress): string {
  return inUrl(host, port);
}

/** A pool shows its options only through its clients; undefined if it has no client to ask. */
function memberOptions(pool: NodeRedisPool): NodeRedisOptions | undefined {
  const seen: NodeRedisOptions[] = [];
  if (pool.idleClients > 0) void pool.execute(({ options }) => seen.push(options ?? {}));
  return seen[0];
}
