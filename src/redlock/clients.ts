import { shown } from "../checks.js";
import type { Driver } from "../driver/driver.js";
import { type IoredisClient, type IoredisCluster, ioredisDriver } from "../driver/ioredis/index.js";
import { type NodeRedisCluster, type NodeRedisServer, nodeRedisDriver } from "../driver/node-redis/index.js";
import { Holdfast, type Lease } from "../index.js";

/** One server, its Sentinels, or a cluster: a client of ioredis or node-redis, a driver, or a Holdfast. */
export type RedlockClient =
  | IoredisClient
  | IoredisCluster
  | NodeRedisServer
  | NodeRedisCluster
  | Driver
  | Holdfast;

/** The methods that end a client of the program, or report its end. */
interface EndingClient {
  quit?(): Promise<unknown>;
  close?(): Promise<unknown>;
  on?(event: "end", listener: () => void): unknown;
}

/** A client of ioredis that has a prefix for its keys. */
interface Prefixing {
  readonly options: { readonly keyPrefix: string };
  readonly status: string;
  once(event: "connect", listener: () => void): unknown;
  duplicate(...overrides: readonly object[]): (IoredisClient | IoredisCluster) & {
    on(event: "error", listener: () => void): unknown;
    connect(): Promise<unknown>;
    disconnect(): void;
  };
  /** Only clusters have it. */
  nodes?(): unknown;
}

/** The Holdfast of a client, with the connections that were opened for it. */
interface Opened {
  readonly holdfast: Holdfast;
  readonly server: string;
  close(): Promise<void>;
}

/** A client, with the Holdfast that has its locks. */
export interface RedlockMember {
  readonly client: RedlockClient;
  readonly holdfast: Holdfast;
  /** The name of the server in errors; undefined for a Holdfast. */
  readonly server: string | undefined;
  /** The holds of all Redlocks whose first client is this client, by the value of the lock. */
  readonly held: Map<string, readonly Lease[]>;
  /** Closes the connections that were opened here, and ends the connection of the program as redlock does. */
  quit(): Promise<void>;
}

/**
 * How long to wait for each of several servers. The real redlock waits for as long as its Redis clients do: there an absent server delays
 * each acquisition by that time.
 */
const MEMBER_TIMEOUT_MS = 200;

/** A program may make a Redlock for each call. All Redlocks of one client share its Holdfast, and with it the connection for messages. */
const members = new WeakMap<RedlockClient, RedlockMember>();

/** @throws TypeError for anything else */
export function memberOf(client: RedlockClient): RedlockMember {
  const known = members.get(client) ?? newMember(client);
  members.set(client, known);
  return known;
}

function newMember(client: RedlockClient): RedlockMember {
  if (!(client instanceof Holdfast)) return new OwnMember(client);
  return { client, holdfast: client, server: undefined, held: new Map(), quit: () => client.close() };
}

class OwnMember implements RedlockMember {
  readonly client: Exclude<RedlockClient, Holdfast>;
  readonly server: string;
  readonly held = new Map<string, readonly Lease[]>();
  #opened: Opened | undefined;

  constructor(client: Exclude<RedlockClient, Holdfast>) {
    this.client = client;
    this.#opened = opened(client);
    this.server = this.#opened.server;
    // Programs end their clients and forget the Redlock, so the connections that were opened here end too. The client may reconnect.
    (client as EndingClient).on?.("end", () => void this.#close().catch(() => undefined));
  }

  get holdfast(): Holdfast {
    this.#opened ??= opened(this.client);
    return this.#opened.holdfast;
  }

  async quit(): Promise<void> {
    await this.#close();
    const connection = this.client as EndingClient;
    if (!isDriver(this.client)) await (connection.quit ?? connection.close)?.call(connection);
  }

  async #close(): Promise<void> {
    const former = this.#opened;
    this.#opened = undefined;
    this.held.clear();
    await former?.close();
  }
}

/** @throws TypeError */
function opened(client: Exclude<RedlockClient, Holdfast>): Opened {
  if (isPrefixing(client)) return withoutPrefix(client);
  const driver = driverOf(client);
  const holdfast = holdfastOn(driver);
  return { holdfast, server: driver.traits.server, close: () => holdfast.close() };
}

/**
 * ioredis puts the prefix before keys, but not before channels. So holdfast uses a connection without the prefix, and itself puts the
 * prefix before the names.
 */
function withoutPrefix(client: Prefixing): Opened {
  const hasEnded = client.status === "end";
  const bare = { keyPrefix: "", ...(hasEnded && { lazyConnect: true }) };
  const redis = "nodes" in client ? client.duplicate([], bare) : client.duplicate(bare);
  // The caller that asks for a lock gets the error.
  redis.on("error", () => undefined);
  // If the program's client has ended, this connection stays closed until that client connects again.
  if (hasEnded) {
    redis.disconnect();
    client.once("connect", () => void redis.connect().catch(() => undefined));
  }
  const driver = ioredisDriver(redis);
  const holdfast = holdfastOn(driver, (name) => client.options.keyPrefix + name);
  const close = () => holdfast.close().finally(() => redis.disconnect());
  return { holdfast, server: driver.traits.server, close };
}

function holdfastOn(driver: Driver, nameMapper?: (name: string) => string): Holdfast {
  return new Holdfast(driver, {
    // Redlock does not know re-entry: a second call waits for the first.
    reentry: "explicit",
    redMemberTimeoutMs: MEMBER_TIMEOUT_MS,
    ...(nameMapper && { nameMapper }),
  });
}

/** @throws TypeError */
function driverOf(client: Exclude<RedlockClient, Holdfast>): Driver {
  if (typeof client !== "object" || client === null)
    throw new TypeError(
      `a client of redlock must be one of ioredis or node-redis, a driver or a Holdfast, got ${shown(client)}`,
    );
  if (isDriver(client)) return client;
  return "isOpen" in client ? nodeRedisDriver(client) : ioredisDriver(client);
}

function isDriver(client: RedlockClient): client is Driver {
  return "traits" in client;
}

function isPrefixing(client: object): client is Prefixing {
  if (typeof client !== "object" || client === null || !("options" in client) || "isOpen" in client)
    return false;
  const { options } = client as Partial<Prefixing>;
  return typeof options?.keyPrefix === "string" && options.keyPrefix !== "";
}
