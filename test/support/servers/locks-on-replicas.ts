import type { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll } from "vitest";
import type { HoldfastOptions } from "../../../src/client-options.js";
import { ioredisDriver } from "../../../src/driver/ioredis/index.js";
import { Holdfast } from "../../../src/holdfast.js";
import { destroyClient } from "../clients/ioredis-clients.js";
import { watchLeaks } from "../run/leaks.js";
import type { RedisServer } from "./redis-server.js";
import { type ReplicatedRedis, startReplicated } from "./replicated-redis.js";
import type { ClientOptions } from "./server-clients.js";

/** A master with replicas for all tests of a file, and clients of the master. */
export interface LocksOnReplicas {
  readonly servers: ReplicatedRedis;
  readonly replica: RedisServer;
  /** Clients that know nothing about locks, of the master and of each replica. */
  readonly plain: Redis;
  readonly copies: readonly Redis[];
  holdfast(options?: HoldfastOptions, connection?: ClientOptions): Holdfast;
  /** What goes wrong with a replica, the first where none is named, is mended after the test. */
  cut(replica?: RedisServer): Promise<void>;
  hold(replica?: RedisServer): void;
  freeze(replica?: RedisServer): Promise<void>;
  mend(): Promise<void>;
}

/** Starts them before the tests of the file, and fails each that leaves a key, a timer or a socket behind. */
export function locksOnReplicas(replicas = 1): LocksOnReplicas {
  let started: ReplicatedRedis | undefined;
  let clients: Redis[] = [];
  const opened: { readonly redis: Redis; readonly holdfast: Holdfast }[] = [];
  const unlinked = new Set<RedisServer>();
  const frozen = new Set<RedisServer>();
  beforeAll(async () => {
    started = await startReplicated({ replicas });
    clients = [started.master, ...started.replicas].map((server) => server.client());
    await Promise.all(clients.map((client) => client.ping()));
  });
  afterAll(() => started?.stop());
  watchLeaks({ keys: () => clients[0] });
  const there = <T>(thing: T | undefined): T => {
    if (thing === undefined) throw new Error("the servers start before the first test, not earlier");
    return thing;
  };
  const locks: LocksOnReplicas = {
    get servers() {
      return there(started);
    },
    get replica() {
      return there(there(started).replicas[0]);
    },
    get plain() {
      return there(clients[0]);
    },
    get copies() {
      return clients.slice(1);
    },
    holdfast(options = {}, connection = {}) {
      const redis = locks.servers.master.client(connection);
      const holdfast = new Holdfast(ioredisDriver(redis), options);
      opened.push({ redis, holdfast });
      return holdfast;
    },
    async cut(replica = locks.replica) {
      unlinked.add(replica);
      await locks.servers.cut(replica);
    },
    hold(replica = locks.replica) {
      unlinked.add(replica);
      locks.servers.hold(replica);
    },
    async freeze(replica = locks.replica) {
      frozen.add(replica);
      await replica.pause();
    },
    async mend() {
      for (const replica of frozen) replica.resume();
      frozen.clear();
      for (const replica of unlinked) await locks.servers.join(replica);
      unlinked.clear();
    },
  };
  afterEach(async () => {
    await locks.mend();
    const clients = opened.splice(0);
    await Promise.all(clients.map(({ holdfast }) => holdfast.close()));
    await Promise.all(clients.map(({ redis }) => destroyClient(redis)));
  });
  return locks;
}
