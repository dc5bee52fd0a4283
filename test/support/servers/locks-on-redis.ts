import type { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll } from "vitest";
import type { HoldfastOptions } from "../../../src/client-options.js";
import { ioredisDriver } from "../../../src/driver/ioredis/index.js";
import { Holdfast } from "../../../src/holdfast.js";
import { destroyClient } from "../clients/ioredis-clients.js";
import { startProxy, type TcpProxy } from "../faults/tcp-proxy.js";
import { watchLeaks } from "../run/leaks.js";
import type { RedisServer } from "./redis-server.js";
import { type ScriptArrivals, watchArrivals } from "./script-arrivals.js";
import type { ClientOptions } from "./server-clients.js";
import { workerServer } from "./worker-server.js";

/** A busy machine may hold up a server that is one of several. */
const PATIENT_MS = 3_000;

/** A client of holdfast and the Redis client below it. */
export interface Connected {
  readonly holdfast: Holdfast;
  readonly redis: Redis;
}

/** One real server for all tests of a file. What is opened is closed after the test. */
export interface LocksOnRedis {
  readonly server: RedisServer;
  /** A client that knows nothing about locks. */
  readonly plain: Redis;
  /** A client with a connection of its own; a proxy's `port` among the options leads through that. */
  connect(options?: HoldfastOptions, connection?: ClientOptions): Connected;
  holdfast(options?: HoldfastOptions, connection?: ClientOptions): Holdfast;
  /** A proxy before the server. Healed before the clients are closed. */
  proxy(): Promise<TcpProxy>;
  arrivals(): Promise<ScriptArrivals>;
}

/**
 * Opens the server before the tests of the file, and fails each that leaves a key, a timer or a socket behind.
 *
 * @param start Default: the server of the worker. What ends its server, or wants arguments, starts its own.
 */
export function locksOnRedis(start: () => Promise<RedisServer> = workerServer): LocksOnRedis {
  let server: RedisServer | undefined;
  let plain: Redis | undefined;
  const connected: Connected[] = [];
  const proxies: TcpProxy[] = [];
  const arrivals: ScriptArrivals[] = [];
  beforeAll(async () => {
    server = await start();
    plain = server.client();
    await plain.ping();
  });
  afterAll(() => server?.stop());
  watchLeaks({ keys: () => plain });
  afterEach(async () => {
    const opened = connected.splice(0);
    const ways = proxies.splice(0);
    await Promise.all(ways.map((proxy) => proxy.heal()));
    await Promise.all(opened.map(({ holdfast }) => holdfast.close()));
    await Promise.all(opened.map(({ redis }) => destroyClient(redis)));
    await Promise.all(ways.map((proxy) => proxy.close()));
    for (const watch of arrivals.splice(0)) watch.stop();
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
      const pair = {
        redis,
        holdfast: new Holdfast(ioredisDriver(redis), { redMemberTimeoutMs: PATIENT_MS, ...options }),
      };
      connected.push(pair);
      return pair;
    },
    holdfast(options, connection) {
      return this.connect(options, connection).holdfast;
    },
    async proxy() {
      const proxy = await startProxy(started(server).port);
      proxies.push(proxy);
      return proxy;
    },
    async arrivals() {
      const watch = await watchArrivals(started(plain));
      arrivals.push(watch);
      return watch;
    },
  };
}
