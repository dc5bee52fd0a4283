import { afterAll, afterEach, beforeAll } from "vitest";
import type { HoldfastOptions } from "../../../src/client-options.js";
import type { Clock } from "../../../src/clock.js";
import type { Driver } from "../../../src/driver/driver.js";
import { Holdfast } from "../../../src/holdfast.js";
import { MemoryServer, memoryDriver } from "../../../src/memory/index.js";
import type { RawReply } from "../../../src/protocol/script-call.js";
import { ioredisPairs } from "../clients/ioredis-pairs.js";
import type { AnyPair, ConnectedClient, Pair } from "../clients/pair.js";
import { isBefore7 } from "./redis-program.js";
import { isRequestKey } from "./request-keys.js";
import { type Servers, startServers, type Topology } from "./topologies.js";

/** A kind of server that locks must behave the same on: `describe.each(backends)("… on $name", …)`. */
export interface Backend {
  readonly name: string;
  /** Which client on which topology this is; the embedded server has neither. */
  readonly pair?: AnyPair;
  /** Starts an empty server. */
  open(): Promise<OpenBackend>;
}

/** A server with the means to use it through holdfast and past it. */
export interface OpenBackend {
  /** A client with a connection of its own, closed by `closeClients`. */
  client(options?: HoldfastOptions, wrap?: (driver: Driver) => Driver): Holdfast;
  /** Asks the server itself. Answers as in RESP2, so HGETALL brings a flat list. */
  raw(command: string, ...args: readonly (string | number)[]): Promise<RawReply>;
  /** The hash of a key; empty when there is none. */
  fields(key: string): Promise<Readonly<Record<string, string>>>;
  /** -2 without the key, -1 without a TTL. */
  ttlMs(key: string): Promise<number>;
  keys(): Promise<readonly string[]>;
  /** Deletes all keys. */
  flush(): Promise<void>;
  /** What is published on a channel from now on, in a list that grows. */
  listen(channel: string): Promise<readonly string[]>;
  /** Closes what `client` and `listen` opened; releases nothing. */
  closeClients(): Promise<void>;
  close(): Promise<void>;
}

/** No server is away, but the machine may be busy. */
const PATIENT_MS = 3_000;
/** Clean-up behind the scenes may still go on when a test ends. */
const EMPTY_WITHIN_MS = 1_000;

/**
 * Opens a backend for the tests of a `describe` block. Fails each test after which a key is left, and closes
 * its clients.
 */
export function openedFor({ open }: Backend): () => OpenBackend {
  let backend: OpenBackend | undefined;
  const current = (): OpenBackend => {
    if (backend === undefined) throw new Error("the backend is opened before the first test, not earlier");
    return backend;
  };
  beforeAll(async () => {
    backend = await open();
  });
  afterEach(async () => {
    const left = await leftKeys(current());
    await current().closeClients();
    if (left.length === 0) return;
    await current().flush();
    throw new Error(`left behind by the test: ${left.join(", ")}`);
  });
  afterAll(() => backend?.close());
  return current;
}

async function leftKeys(backend: OpenBackend): Promise<readonly string[]> {
  const endMs = performance.now() + EMPTY_WITHIN_MS;
  for (;;) {
    const keys = (await backend.keys()).filter((key) => !isRequestKey(key));
    if (keys.length === 0 || performance.now() >= endMs) return keys;
    await new Promise(setImmediate);
  }
}

abstract class AnyBackend implements OpenBackend {
  readonly #opened = new Set<Holdfast>();

  protected abstract driver(): Driver;
  abstract raw(command: string, ...args: readonly (string | number)[]): Promise<RawReply>;
  abstract keys(): Promise<readonly string[]>;
  abstract flush(): Promise<void>;
  abstract listen(channel: string): Promise<readonly string[]>;
  abstract close(): Promise<void>;

  client(options: HoldfastOptions = {}, wrap: (driver: Driver) => Driver = (driver) => driver): Holdfast {
    const client = new Holdfast(wrap(this.driver()), { redMemberTimeoutMs: PATIENT_MS, ...options });
    this.#opened.add(client);
    return client;
  }

  async fields(key: string): Promise<Readonly<Record<string, string>>> {
    const flat = textsOf(await this.raw("HGETALL", key));
    const pairs = flat.flatMap((field, at) => (at % 2 === 0 ? [[field, flat[at + 1] ?? ""] as const] : []));
    return Object.fromEntries(pairs);
  }

  async ttlMs(key: string): Promise<number> {
    return Number(await this.raw("PTTL", key));
  }

  async closeClients(): Promise<void> {
    await Promise.all([...this.#opened].map((client) => client.close()));
    this.#opened.clear();
  }
}

function textsOf(reply: RawReply): readonly string[] {
  if (reply === null || typeof reply !== "object") throw new TypeError(`not a list: ${String(reply)}`);
  return reply.map(String);
}

/** As many clients as a test needs at most: a connection each, but one to each node of a cluster. */
const CLIENTS: Readonly<Record<Topology, number>> = { standalone: 24, sentinel: 8, cluster: 8 };

class RealBackend<Kind extends Topology> extends AnyBackend {
  readonly #servers: Servers<Kind>;
  readonly #clients: readonly ConnectedClient[];
  #used = 0;
  readonly #listening = new Set<Driver>();

  constructor(servers: Servers<Kind>, clients: readonly ConnectedClient[]) {
    super();
    this.#servers = servers;
    this.#clients = clients;
  }

  protected driver(): Driver {
    const client = this.#clients[this.#used];
    if (client === undefined) throw new Error(`a test has ${this.#clients.length} clients at most`);
    this.#used += 1;
    return client.drive();
  }

  raw(command: string, ...args: readonly (string | number)[]): Promise<RawReply> {
    return this.#servers.raw(command, ...args);
  }

  keys(): Promise<readonly string[]> {
    return this.#servers.keys();
  }

  flush(): Promise<void> {
    return this.#servers.flush();
  }

  async listen(channel: string): Promise<readonly string[]> {
    const messages: string[] = [];
    const driver = this.#servers.drive();
    this.#listening.add(driver);
    const listener = {
      onMessage: (message: string) => void messages.push(message),
      onReady: () => undefined,
    };
    const family = driver.traits.sharded && !isBefore7() ? "sharded" : "classic";
    await driver.subscribe(channel, listener, family);
    return messages;
  }

  override async closeClients(): Promise<void> {
    await super.closeClients();
    this.#used = 0;
    await Promise.all([...this.#listening].map((driver) => driver.close()));
    this.#listening.clear();
  }

  async close(): Promise<void> {
    await this.closeClients();
    await Promise.all(this.#clients.map((client) => client.end()));
    await this.#servers.stop();
  }
}

async function openPair<Kind extends Topology>(
  { connect, topology }: Pair<Kind>,
  start: () => Promise<Servers<Kind>> = startServers[topology],
): Promise<OpenBackend> {
  const servers = await start();
  const clients = await Promise.all(Array.from({ length: CLIENTS[topology] }, () => connect(servers.place)));
  return new RealBackend(servers, clients);
}

class EmbeddedBackend extends AnyBackend {
  readonly #server: MemoryServer;
  readonly #clock: Clock | undefined;
  readonly #listening = new Set<() => void>();

  constructor(clock: Clock | undefined) {
    super();
    this.#clock = clock;
    this.#server = new MemoryServer(clock === undefined ? {} : { clock });
  }

  protected driver(): Driver {
    return memoryDriver(this.#server);
  }

  override client(options: HoldfastOptions = {}, wrap?: (driver: Driver) => Driver): Holdfast {
    return super.client(this.#clock === undefined ? options : { clock: this.#clock, ...options }, wrap);
  }

  async raw(command: string, ...args: readonly (string | number)[]): Promise<RawReply> {
    return this.#server.command(command, ...args);
  }

  async keys(): Promise<readonly string[]> {
    return Object.keys(this.#server.dump());
  }

  async flush(): Promise<void> {
    this.#server.flush();
  }

  async listen(channel: string): Promise<readonly string[]> {
    const messages: string[] = [];
    this.#listening.add(this.#server.subscribe(channel, (message) => messages.push(message)));
    return messages;
  }

  override async closeClients(): Promise<void> {
    await super.closeClients();
    for (const end of this.#listening) end();
    this.#listening.clear();
  }

  async close(): Promise<void> {
    await this.closeClients();
  }
}

/** The embedded server, on a fake clock if one is given: then its clients are on that clock as well. */
export function openEmbedded(clock?: Clock): OpenBackend {
  return new EmbeddedBackend(clock);
}

/** Servers of the topology that the pair is for, and clients of its library. */
export function backendOf(pair: AnyPair): Backend {
  const name = `${pair.topology} through ${pair.client}`;
  switch (pair.topology) {
    case "standalone":
      return { name, pair, open: () => openPair(pair) };
    case "sentinel":
      return { name, pair, open: () => openPair(pair) };
    case "cluster":
      return { name, pair, open: () => openPair(pair) };
  }
}

const [first] = ioredisPairs;

export const embedded: Backend = { name: "the embedded server", open: async () => openEmbedded() };

export const allBackends: readonly Backend[] = [
  ...(first === undefined ? [] : [{ ...backendOf(first), name: "redis-server through ioredis" }]),
  embedded,
];

/** Where servers of other releases are in turn, without the embedded one, which is the same each time. */
export const backends: readonly Backend[] = allBackends.filter(
  (backend) => backend !== embedded || process.env["HOLDFAST_EMBEDDED"] !== "0",
);
