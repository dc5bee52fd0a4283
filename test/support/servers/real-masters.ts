import type { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll } from "vitest";
import type { HoldfastOptions } from "../../../src/client-options.js";
import { ioredisDriver } from "../../../src/driver/ioredis/index.js";
import { Holdfast } from "../../../src/holdfast.js";
import type { Lock } from "../../../src/locks/lock.js";
import { destroyClient } from "../clients/ioredis-clients.js";
import { ObservedDriver } from "../drivers/observed-driver.js";
import { startProxy, type TcpProxy } from "../faults/tcp-proxy.js";
import { watchLeaks } from "../run/leaks.js";
import { type RedisServer, startMasters } from "./redis-server.js";

/** One process: a client for each server. */
export interface RealParty {
  readonly drivers: readonly ObservedDriver[];
  /** The locks of one name on all servers. */
  red(name?: string): Lock;
}

/** Independent real servers, empty and running before each test. */
export interface RealMasters {
  readonly servers: readonly RedisServer[];
  /**
   * A process whose clients have met their servers.
   * @param ways proxies to go through, for the first servers
   */
  party(options?: HoldfastOptions, ways?: readonly TcpProxy[]): Promise<RealParty>;
  /** A proxy before a server. Healed before the clients are closed. */
  proxy(at: number): Promise<TcpProxy>;
  /** On which servers a key is; all have to be there. */
  heldOn(key: string): Promise<readonly number[]>;
  /** Asks a server itself. */
  ask<T>(at: number, question: (redis: Redis) => Promise<T>): Promise<T>;
}

/** Starts the servers before the tests of the file, and fails each that leaves a timer or a socket behind. */
export function realMasters(count: number): RealMasters {
  const servers: RedisServer[] = [];
  const opened: { readonly holdfast: Holdfast; readonly redis: Redis }[] = [];
  const proxies: TcpProxy[] = [];
  beforeAll(async () => void servers.push(...(await startMasters(count))));
  watchLeaks();
  afterEach(async () => {
    const [open, ways] = [opened.splice(0), proxies.splice(0)];
    await Promise.all(ways.map((proxy) => proxy.heal()));
    await Promise.all(open.map(({ holdfast }) => holdfast.close()));
    await Promise.all(open.map(({ redis }) => destroyClient(redis)));
    await Promise.all(ways.map((proxy) => proxy.close()));
    await Promise.all(servers.map((server) => server.restart()));
  });
  afterAll(async () => {
    for (const server of servers) await server.stop();
  });
  return {
    servers,
    async party(options = {}, ways = []) {
      const connections = servers.map((server, at) => {
        const redis = server.client({ port: ways[at]?.port ?? server.port });
        const driver = new ObservedDriver(ioredisDriver(redis));
        const holdfast = new Holdfast(driver, { redMemberTimeoutMs: 500, ...options });
        opened.push({ holdfast, redis });
        return { holdfast, driver };
      });
      const clients = connections.map(({ holdfast }) => holdfast);
      await Promise.all(clients.map((client) => client.getLock("acquaintance").using(() => undefined)));
      const [first] = clients;
      if (first === undefined) throw new Error("the servers start before the first test, not earlier");
      return {
        drivers: connections.map(({ driver }) => driver),
        red: (name = "a") => first.getRedLock(...clients.map((client) => client.getLock(name))),
      };
    },
    async proxy(at) {
      const proxy = await startProxy(servers[at]?.port ?? 0);
      proxies.push(proxy);
      return proxy;
    },
    async heldOn(key) {
      const found = await Promise.all(servers.map((_, at) => this.ask(at, (redis) => redis.exists(key))));
      return found.flatMap((there, at) => (there === 1 ? [at] : []));
    },
    async ask(at, question) {
      const redis = servers[at]?.client();
      if (redis === undefined) throw new Error(`there is no server ${at}`);
      try {
        return await question(redis);
      } finally {
        await destroyClient(redis);
      }
    },
  };
}
