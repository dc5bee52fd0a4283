import type { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll } from "vitest";
import type { Clock } from "../../src/clock.js";
import type { Driver } from "../../src/driver/driver.js";
import { ioredisDriver } from "../../src/driver/ioredis.js";
import { MemoryServer, memoryDriver } from "../../src/driver/memory/index.js";
import { Holdfast } from "../../src/holdfast.js";
import type { HoldfastOptions } from "../../src/client-options.js";
import type { RawReply } from "../../src/protocol/script-call.js";
import { destroyClient } from "./ioredis-clients.js";
import { type RedisServer, startRedis } from "./redis-server.js";
import { isRequestKey } from "./request-keys.js";

/** A kind of server that locks must behave the same on: `describe.each(backends)("… on $name", …)`. */
export interface Backend {
  readonly name: string;
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
    const client = new Holdfast(wrap(this.driver()), options);
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

class RealBackend extends AnyBackend {
  readonly #server: RedisServer;
  readonly #admin: Redis;
  readonly #connections = new Set<Redis>();

  constructor(server: RedisServer) {
    super();
    this.#server = server;
    this.#admin = server.client();
  }

  protected driver(): Driver {
    const connection = this.#server.client();
    this.#connections.add(connection);
    return ioredisDriver(connection);
  }

  raw(command: string, ...args: readonly (string | number)[]): Promise<RawReply> {
    return this.#admin.call(command, ...args) as Promise<RawReply>;
  }

  async keys(): Promise<readonly string[]> {
    return textsOf(await this.raw("KEYS", "*"));
  }

  async flush(): Promise<void> {
    await this.raw("FLUSHALL");
  }

  async listen(channel: string): Promise<readonly string[]> {
    const messages: string[] = [];
    const connection = this.#server.client();
    this.#connections.add(connection);
    connection.on("message", (_, message) => messages.push(message));
    await connection.subscribe(channel);
    return messages;
  }

  override async closeClients(): Promise<void> {
    await super.closeClients();
    await Promise.all([...this.#connections].map(destroyClient));
    this.#connections.clear();
  }

  async close(): Promise<void> {
    await this.closeClients();
    await this.#server.stop();
  }
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

export const backends: readonly Backend[] = [
  {
    name: "redis-server through ioredis",
    open: async () => {
      const backend = new RealBackend(await startRedis());
      await backend.raw("PING");
      return backend;
    },
  },
  { name: "the embedded server", open: async () => openEmbedded() },
];
