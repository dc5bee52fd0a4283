import type { Driver } from "holdfast";
import { createClient, createClientPool, createCluster, createSentinel } from "redis";
import {
  createClient as createClient5,
  createClientPool as createClientPool5,
  createCluster as createCluster5,
  createSentinel as createSentinel5,
} from "redis5";
import { expectTypeOf } from "vitest";
import { nodeRedisDriver } from "../../src/driver/node-redis/index.js";

const sentinels = { name: "main", sentinelRootNodes: [{ host: "127.0.0.1", port: 26_379 }] };
const roots = { rootNodes: [{ url: "redis://127.0.0.1:7000" }] };

// All kinds of clients of node-redis 5 and 6 will do, whatever they answer with; others will not.
expectTypeOf(nodeRedisDriver(createClient())).toEqualTypeOf<Driver>();
expectTypeOf(
  nodeRedisDriver(createClient({ RESP: 2 }).withTypeMapping({ 36: Buffer })),
).toEqualTypeOf<Driver>();
expectTypeOf(nodeRedisDriver(createClientPool())).toEqualTypeOf<Driver>();
expectTypeOf(nodeRedisDriver(createSentinel(sentinels))).toEqualTypeOf<Driver>();
expectTypeOf(nodeRedisDriver(createCluster(roots))).toEqualTypeOf<Driver>();
expectTypeOf(nodeRedisDriver(createClient5())).toEqualTypeOf<Driver>();
expectTypeOf(nodeRedisDriver(createClient5({ RESP: 3 }))).toEqualTypeOf<Driver>();
expectTypeOf(nodeRedisDriver(createClientPool5())).toEqualTypeOf<Driver>();
expectTypeOf(nodeRedisDriver(createSentinel5(sentinels))).toEqualTypeOf<Driver>();
expectTypeOf(nodeRedisDriver(createCluster5(roots))).toEqualTypeOf<Driver>();
// @ts-expect-error a transaction is no client
nodeRedisDriver(createClient().multi());
// @ts-expect-error options are no client
nodeRedisDriver({ socket: { host: "127.0.0.1", port: 6379 } });
