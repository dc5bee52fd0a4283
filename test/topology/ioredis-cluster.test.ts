import { AsyncLocalStorage } from "node:async_hooks";
import { Cluster } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { HoldfastOptions } from "../../src/client-options.js";
import type { Driver } from "../../src/driver/driver.js";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { events } from "../../src/events.js";
import { Holdfast } from "../../src/holdfast.js";
import { quickEnd } from "../support/clients/ioredis-clients.js";
import { untilCollected } from "../support/run/garbage.js";
import { type RedisCluster, startCluster } from "../support/servers/redis-cluster.js";
import type { RedisServer } from "../support/servers/redis-server.js";

let cluster: RedisCluster;
const ends: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster.stop());
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** With what its driver was asked to run, by name. */
function connect(options: HoldfastOptions = {}, lazyConnect = false) {
  const nodes = cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
  const redis = new Cluster(nodes, { lazyConnect, redisOptions: quickEnd });
  redis.on("error", () => undefined);
  const inner = ioredisDriver(redis);
  const ran: string[] = [];
  const driver: Driver = {
    traits: inner.traits,
    get resets() {
      return inner.resets;
    },
    placeOf: (key) => inner.placeOf?.(key) ?? "",
    run(call, ticket) {
      ran.push(call.script.name);
      return inner.run(call, ticket);
    },
    runReplicated(call, ticket, demand) {
      ran.push(call.script.name);
      if (inner.runReplicated === undefined) throw new Error("ioredis has it");
      return inner.runReplicated(call, ticket, demand);
    },
    subscribe: (...args) => inner.subscribe(...args),
    close: () => inner.close(),
  };
  const holdfast = new Holdfast(driver, options);
  ends.push(async () => {
    await holdfast.close({ releaseHeld: true });
    redis.disconnect();
  });
  return { redis, holdfast, ran };
}

const NAMES = Array.from({ length: 8 }, (_, i) => `order:${i}`);

describe("a cluster that is not connected yet", () => {
  test.each([false, true])(
    "is waited for by the first calls, each of which is sent once (lazy: %j)",
    async (lazy) => {
      const { holdfast, ran } = connect({}, lazy);
      await Promise.all(NAMES.map((name) => holdfast.getLock(name).using(() => undefined)));
      expect(ran.filter((name) => name === "lock-acquire")).toHaveLength(NAMES.length);
      expect(ran.filter((name) => name === "lock-release")).toHaveLength(NAMES.length);
      // One for who was asked before it was known who has what, and one for each master.
      expect(ran.filter((name) => name === "server-probe").length).toBeLessThanOrEqual(4);
    },
  );

  test("ends its calls when the driver is closed", async () => {
    const redis = new Cluster([{ host: "127.0.0.1", port: 1 }], { redisOptions: quickEnd });
    redis.on("error", () => undefined);
    const driver = ioredisDriver(redis);
    const waiting = driver.subscribe("channel", { onMessage() {}, onReady() {} }, "sharded");
    await Promise.all([expect(waiting).rejects.toThrow("closed"), driver.close()]);
    redis.disconnect();
  });
});

test("an outage of a node is told of no more as soon as a node is well again", async () => {
  const { redis } = connect();
  await new Promise((resolve) => redis.once("ready", resolve));
  const driver = ioredisDriver(redis);
  const error = new Error("connect ECONNREFUSED 10.0.0.3:6379");
  redis.emit("node error", error, "10.0.0.3:6379");
  expect(driver.outage).toBe(error);
  // The cluster has been ready all the time, and says nothing.
  redis.nodes("master")[0]?.emit("ready");
  expect(driver.outage).toBeUndefined();
  await driver.close();
});

test("a cluster that is connected has two commands for lock and unlock, and a probe for each master once", async () => {
  const { redis, holdfast, ran } = connect();
  await new Promise((resolve) => redis.once("ready", resolve));
  await Promise.all(NAMES.map((name) => holdfast.getLock(name).using(() => undefined)));
  ran.length = 0;
  for (const name of NAMES) await holdfast.getLock(name).using(() => undefined);
  expect(ran).toEqual(NAMES.flatMap(() => ["lock-acquire", "lock-release"]));
});

test.each(["off", "auto"] as const)(
  "no connection keeps the context of a caller (replicas: %s)",
  async (mode) => {
    const { redis, holdfast } = connect({ replicas: { mode } });
    await new Promise((resolve) => redis.once("ready", resolve));
    const requests = new AsyncLocalStorage<object>();
    const contexts: WeakRef<object>[] = [];
    const visit = async (name: string) => {
      const context = {};
      contexts.push(new WeakRef(context));
      await requests.run(context, () => holdfast.getLock(name).using(() => undefined));
    };
    for (const name of NAMES) await visit(name);
    const isCollected = () => contexts.every((context) => context.deref() === undefined);
    await expect(untilCollected(isCollected)).resolves.toBeUndefined();
  },
);

describe("with a replica that stands still, and that nobody needs", () => {
  let replica: RedisServer;
  beforeAll(async () => {
    replica = cluster.replicaOf(await cluster.masterOf("order:0"));
    await replica.pause();
  });
  afterAll(async () => {
    replica.resume();
    await cluster.settled();
  });

  test("a lock is had also where its lease is short, and kept where it is renewed", async () => {
    const { holdfast } = connect({ watchdogMs: 3_000 });
    const short: number[] = [];
    const note = ({ acknowledged }: { readonly acknowledged: number }) => void short.push(acknowledged);
    events.replicasShort.subscribe(note);
    const lease = await holdfast.getLock("order:0").lock();
    const brief = await holdfast.getLock("{order:0}:brief").tryLock({ leaseMs: 900 });
    expect(brief?.state).toBe("held");
    const endMs = performance.now() + 4_000;
    while (performance.now() < endMs) await holdfast.getLock("{order:0}:other").using(() => undefined);
    expect(lease.state).toBe("held");
    await lease.unlock();
    events.replicasShort.unsubscribe(note);
    expect(short.length).toBeGreaterThan(0);
  });
});
