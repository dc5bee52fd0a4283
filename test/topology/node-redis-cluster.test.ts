import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { evaluate, Recorder, script } from "../../src/driver/conformance/conformance-case.js";
import type { Driver, PubSubFamily } from "../../src/driver/driver.js";
import { nodeRedisDriver } from "../../src/driver/node-redis/index.js";
import { type Connectable, destroyClient, versions } from "../support/clients/node-redis-clients.js";
import { runConformance } from "../support/drivers/conformance-runner.js";
import { watchLeaks } from "../support/run/leaks.js";
import { until } from "../support/run/until.js";
import { ask } from "../support/servers/ask.js";
import { moveSlotOf, type RedisCluster, startCluster } from "../support/servers/redis-cluster.js";
import { isBefore7, messageFamilies, NO_SHARDED_MESSAGES } from "../support/servers/redis-program.js";

const increment = script("increment", 'return redis.call("INCR", KEYS[1])');
const answer = (reply: unknown) => ({ reply, acknowledged: 1, wanted: 1 });

let redis: RedisCluster;
beforeAll(async () => {
  redis = await startCluster({ masters: 3, replicas: 1 });
}, 30_000);
afterAll(() => redis.stop());
watchLeaks();

const clients = new Map<Driver, Connectable>();
afterEach(async () => {
  for (const [driver, client] of clients) {
    await driver.close();
    await destroyClient(client);
  }
  clients.clear();
  await restored();
});

/** As it was, but for who is the master. */
async function restored(): Promise<void> {
  await Promise.all(redis.nodes.filter(({ running }) => !running).map((node) => node.restart()));
  await redis.settled();
  for (const master of await redis.masters()) await ask(master, "FLUSHALL");
}

/** Keys, and channels, of which each master has one. */
const keys = ["{a}", "{b}", "{c}"] as const;

async function publish(family: PubSubFamily, channel: string, message: string): Promise<void> {
  const command = family === "sharded" ? "SPUBLISH" : "PUBLISH";
  await ask(await redis.masterOf(channel), command, channel, message);
}

for (const { version, cluster } of versions) {
  async function drive(options: object = {}): Promise<Driver> {
    const client = cluster({
      rootNodes: redis.nodes.map(({ port }) => ({ socket: { host: "127.0.0.1", port } })),
      defaults: { socket: { reconnectStrategy: () => 20 } },
      ...options,
    });
    client.on("error", () => undefined);
    await client.connect();
    const driver = nodeRedisDriver(client);
    clients.set(driver, client);
    return driver;
  }

  const abilities = {
    flushScripts: async () => {
      for (const master of await redis.masters()) await ask(master, "SCRIPT", "FLUSH");
    },
    endClient: async (driver: Driver) => {
      const client = clients.get(driver);
      if (client !== undefined) await destroyClient(client);
    },
    keepsOrder: true,
    replicas: 1,
    masters: 3,
    moveKey: (key: string) => moveSlotOf(redis, key),
  } as const;

  const pair = { client: `node-redis ${version}`, topology: "cluster" } as const;
  runConformance(
    `nodeRedisDriver on a cluster with node-redis ${version}`,
    { connect: () => drive({ RESP: 3 }), ...abilities },
    pair,
  );
  runConformance(
    `nodeRedisDriver on a cluster with node-redis ${version}, RESP2 and sharded messages`,
    { connect: () => drive({ RESP: 2 }), family: "sharded", ...abilities },
    pair,
  );

  describe(`a cluster with node-redis ${version}`, () => {
    it("is named by the servers that its client was told of", async () => {
      const names = redis.nodes.map(({ port }) => `127.0.0.1:${port}`);
      expect((await drive()).traits).toEqual({
        server: `redis+cluster://${names.join(",")}`,
        topology: "cluster",
        sharded: true,
      });
    });

    it("runs each script on the master of its key, with its text once for each, and names that place", async () => {
      const driver = await drive();
      const masters = await redis.masters();
      for (const master of masters) {
        await ask(master, "SCRIPT", "FLUSH");
        await ask(master, "CONFIG", "RESETSTAT");
      }
      for (const key of keys) {
        for (const count of [1, 2]) expect(await evaluate(driver, increment, [key])).toBe(count);
        expect(driver.placeOf?.(key)).toBe(`127.0.0.1:${(await redis.masterOf(key)).port}`);
      }
      for (const master of masters) {
        const stats = String(await ask(master, "INFO", "commandstats"));
        expect(stats).toMatch(/cmdstat_eval:calls=1,/);
        expect(stats).toMatch(/cmdstat_evalsha:calls=1,.*failed_calls=0/);
      }
      expect(driver.placeOf?.(keys[0])).not.toBe(driver.placeOf?.(keys[1]));
    });

    it("follows a slot that is being moved and one that has moved, with scripts and acknowledged calls", async () => {
      const driver = await drive();
      const [key] = keys;
      await evaluate(driver, increment, [key]);
      const from = await redis.masterOf(key);
      const to = await redis.masterOf(keys[1]);
      const slot = await redis.slotOf(key);
      const call = { script: increment, keys: [key], args: [] };
      const acknowledged = () =>
        driver.runReplicated?.(call, { givenUp: false }, { replicas: 1, timeoutMs: 10_000 });
      expect(await acknowledged()).toEqual(answer(2));
      const there = await redis.migrateSlot(slot, to);
      await there.moveKeys();
      expect(await evaluate(driver, increment, [key])).toBe(3);
      expect(await acknowledged()).toEqual(answer(4));
      await there.finish();
      expect(await acknowledged()).toEqual(answer(5));
      expect(await evaluate(driver, increment, [key])).toBe(6);
      expect(driver.placeOf?.(key)).toBe(`127.0.0.1:${to.port}`);
      expect(driver.resets).toBe(0);
      const back = await redis.migrateSlot(slot, from);
      await back.moveKeys();
      await back.finish();
    });

    it("listens to messages of both families, also where clients are made at first use only", async () => {
      const driver = await drive({ minimizeConnections: true });
      for (const family of messageFamilies()) {
        for (const key of keys) {
          const listener = new Recorder();
          await driver.subscribe(key, listener, family);
          await publish(family, key, "hello");
          await listener.until(2);
          expect(listener.heard).toEqual(["ready", ">hello"]);
        }
      }
    });

    for (const RESP of [2, 3] as const) {
      it(`listens again to a channel whose slot has moved, and says so (RESP${RESP})`, async ({ skip }) => {
        skip(isBefore7(), NO_SHARDED_MESSAGES);
        const driver = await drive({ RESP });
        const [channel] = keys;
        const listener = new Recorder();
        await driver.subscribe(channel, listener, "sharded");
        const from = await redis.masterOf(channel);
        const slot = await redis.slotOf(channel);
        const to = await redis.masterOf(keys[1]);
        await (await redis.migrateSlot(slot, to)).finish();
        await listener.until(2);
        await publish("sharded", channel, "moved");
        await listener.until(3);
        expect(listener.heard).toEqual(["ready", "ready", ">moved"]);
        await (await redis.migrateSlot(slot, from)).finish();
        await listener.until(4);
      });
    }

    it("goes on with the replica of a master that failed", { timeout: 30_000 }, async () => {
      const driver = await drive();
      const [key] = keys;
      const listener = new Recorder();
      const call = { script: increment, keys: [key], args: [] };
      const demand = { replicas: "connected", timeoutMs: 10_000 } as const;
      await evaluate(driver, increment, [key]);
      await driver.runReplicated?.(call, { givenUp: false }, demand);
      await driver.subscribe(key, listener);
      const old = await redis.masterOf(key);
      await old.kill();
      await until(() => driver.resets > 0);
      expect(driver.outage).toBeInstanceOf(Error);
      const master = await redis.successor(old);
      await until(() => driver.placeOf?.(key) === `127.0.0.1:${master.port}`);
      const again = () => evaluate(driver, increment, [key]).then(Number, () => 0);
      await until(async () => (await again()) > 2);
      expect(driver.outage).toBeUndefined();
      await until(async () => {
        await publish("classic", key, "after");
        return listener.heard.includes(">after");
      });
      const acknowledged = () =>
        driver.runReplicated?.(call, { givenUp: false }, demand).catch(() => undefined);
      await until(async () => (await acknowledged()) !== undefined);
    });

    it("listens at the replica of a master that failed", { timeout: 30_000 }, async ({ skip }) => {
      skip(isBefore7(), NO_SHARDED_MESSAGES);
      const driver = await drive();
      const [channel] = keys;
      const listener = new Recorder();
      await driver.subscribe(channel, listener, "sharded");
      const old = await redis.masterOf(channel);
      await old.kill();
      const master = await redis.successor(old);
      await listener.until(2);
      await publish("sharded", channel, "after");
      await until(() => listener.heard.includes(">after"));
      // Messages begin to arrive once from each master.
      expect(listener.heard.slice(0, 2)).toEqual(["ready", "ready"]);
      // node-redis that is closed while it connects leaves the socket.
      await until(() => driver.placeOf?.(channel) === `127.0.0.1:${master.port}`);
      await until(() => evaluate(driver, increment, [channel]).then(Boolean, () => false));
    });

    it("finds the new master also where nobody listens", { timeout: 30_000 }, async () => {
      const driver = await drive();
      const [key] = keys;
      await evaluate(driver, increment, [key]);
      const old = await redis.masterOf(key);
      await old.kill();
      const master = await redis.successor(old);
      await until(() => driver.placeOf?.(key) === `127.0.0.1:${master.port}`);
      await until(() => evaluate(driver, increment, [key]).then(Boolean, () => false));
      expect(driver.placeOf?.(key)).toBe(`127.0.0.1:${master.port}`);
    });

    it("leaves nothing on the cluster client that was not there before", async () => {
      const driver = await drive();
      const client = clients.get(driver) as unknown as import("node:events").EventEmitter;
      const counts = () => client.eventNames().map((name) => [name, client.listenerCount(name)]);
      const during = counts();
      await driver.subscribe(keys[0], new Recorder(), messageFamilies().at(-1));
      await driver.close();
      expect(during).toHaveLength(counts().length + 3);
      expect(counts().map(([name]) => String(name))).not.toContain("node-error");
    });
  });
}
