import type { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll } from "vitest";
import { ioredisDriver } from "../../src/driver/ioredis.js";
import { Holdfast } from "../../src/holdfast.js";
import type { HoldfastOptions } from "../../src/options.js";
import { destroyClient } from "./ioredis-clients.js";
import { watchLeaks } from "./leaks.js";
import { type ClientOptions, type RedisServer, type RedisServerOptions, startRedis } from "./redis-server.js";

/** A client of holdfast and the Redis client below it. */
export interface Connected {
  readonly holdfast: Holdfast;
  readonly redis: Redis;
}

/** One real server for all tests of a file. */
export interface LocksOnRedis {
  readonly server: RedisServer;
  /** A client that knows nothing about locks. */
  readonly plain: Redis;
  /** A client with a connection of its own, closed after the test. */
  connect(options?: HoldfastOptions, connection?: ClientOptions): Connected;
  holdfast(options?: HoldfastOptions, connection?: ClientOptions): Holdfast;
}

/** Starts the server before the tests of the file, and fails each that leaves a key, a timer or a socket behind. */
export function locksOnRedis(serverOptions: RedisServerOptions = {}): LocksOnRedis {
  let server: RedisServer | undefined;
  let plain: Redis | undefined;
  const connected: Connected[] = [];
  beforeAll(async () => {
    server = await startRedis(serverOptions);
    plain = server.client();
    await plain.ping();
  });
  afterAll(() => server?.stop());
  watchLeaks({ keys: () => plain });
  afterEach(async () => {
    const opened = connected.splice(0);
    await Promise.all(opened.map(({ holdfast }) => holdfast.close()));
    await Promise.all(opened.map(({ redis }) => destroyClient(redis)));
  });
  const started = <T>(thing: T | undefined): T => {
    if (thing === undefined) throw new Error("the server starts before the first test, not earlier");
    return thing;
  };
  return {
    get server() {
      return started(server);
    },
    get plain() {
      return started(plain);
    },
    connect(options = {}, connection = {}) {
      const redis = started(server).client(connection);
      const pair = { redis, holdfast: new Holdfast(ioredisDriver(redis), options) };
      connected.push(pair);
      return pair;
    },
    holdfast(options, connection) {
      return this.connect(options, connection).holdfast;
    },
  };
}
