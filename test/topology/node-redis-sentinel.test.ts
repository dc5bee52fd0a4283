import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { evaluate, Recorder, script } from "../../src/driver/conformance/conformance-case.js";
import type { Driver } from "../../src/driver/driver.js";
import { nodeRedisDriver } from "../../src/driver/node-redis/index.js";
import { type Connectable, destroyClient, versions } from "../support/clients/node-redis-clients.js";
import { runConformance } from "../support/drivers/conformance-runner.js";
import { dropNextReply } from "../support/faults/proxy-faults.js";
import { startProxy } from "../support/faults/tcp-proxy.js";
import { watchLeaks } from "../support/run/leaks.js";
import { until } from "../support/run/until.js";
import { ask } from "../support/servers/ask.js";
import { startSentinels, type WatchedRedis } from "../support/servers/sentinels.js";

const increment = script("increment", 'return redis.call("INCR", KEYS[1])');
const key = "counter";

let redis: WatchedRedis;
beforeAll(async () => {
  redis = await startSentinels();
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
  await Promise.all(redis.nodes.filter(({ running }) => !running).map((node) => node.restart()));
  await redis.settled();
  await ask(await redis.master(), "FLUSHALL");
});

for (const { version, sentinel } of versions) {
  async function drive(options: object = {}): Promise<Driver> {
    const client = sentinel({
      name: redis.name,
      sentinelRootNodes: [...redis.sentinels],
      nodeClientOptions: { socket: { reconnectStrategy: () => 20 } },
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
      await ask(await redis.master(), "SCRIPT", "FLUSH");
    },
    endClient: async (driver: Driver) => {
      const client = clients.get(driver);
      if (client !== undefined) await destroyClient(client);
    },
    cutSubscriber: async () => {
      await ask(await redis.master(), "CLIENT", "KILL", "TYPE", "pubsub");
    },
    countsReceivers: true,
    keepsOrder: true,
    replicas: 1,
    masters: 1,
  } as const;

  for (const RESP of [2, 3] as const) {
    runConformance(
      `nodeRedisDriver on Sentinels with node-redis ${version} and RESP${RESP}`,
      { connect: () => drive({ RESP }), ...abilities },
      { client: `node-redis ${version}`, topology: "sentinel" },
    );
  }

  describe(`Sentinels with node-redis ${version}`, () => {
    it("are named, and the master that answers is the place of all keys", async () => {
      const driver = await drive();
      expect(driver.traits.topology).toBe("sentinel");
      expect(driver.traits.server).toMatch(/^redis\+sentinel:\/\/127\.0\.0\.1:\d+#\d+$/);
      // It does not tell its master apart from others that the same Sentinels watch.
      expect((await drive()).traits.server).not.toBe(driver.traits.server);
      expect(driver.placeOf?.(key)).toBe(`127.0.0.1:${(await redis.master()).port}`);
    });

    it("do not let the first calls of a turn wait for those that come later", async () => {
      const driver = await drive();
      const order: number[] = [];
      const call = (number: number) => evaluate(driver, increment, [key]).then(() => order.push(number));
      const first = [1, 2, 3].map(call);
      await new Promise(setImmediate);
      await Promise.all([...first, call(4)]);
      expect(order).toEqual([1, 2, 3, 4]);
    });

    it("send again what a lost connection left unanswered, after a reset, unless it was given up", async () => {
      const master = await redis.master();
      const proxy = await startProxy(master.port);
      const driver = await drive({
        nodeAddressMap: { [`127.0.0.1:${master.port}`]: { host: "127.0.0.1", port: proxy.port } },
      });
      await evaluate(driver, increment, [key]);
      proxy.inject(dropNextReply({ on: key }));
      expect(await evaluate(driver, increment, [key])).toBe(3);
      const { resets } = driver;
      expect(resets).toBeGreaterThan(0);
      proxy.inject(dropNextReply({ on: key }));
      const ticket = { givenUp: false };
      const reply = driver.run({ script: increment, keys: [key], args: [] }, ticket);
      ticket.givenUp = true;
      await expect(reply).rejects.toThrow(/closed|ECONNRESET/);
      expect(driver.resets).toBeGreaterThan(resets);
      expect(await evaluate(driver, increment, [key])).toBe(5);
      await proxy.close();
    });

    it("go on with the replica of a master that failed", { timeout: 40_000 }, async () => {
      const driver = await drive();
      const call = { script: increment, keys: [key], args: [] };
      const demand = { replicas: "connected", timeoutMs: 10_000 } as const;
      const listener = new Recorder();
      await evaluate(driver, increment, [key]);
      await driver.runReplicated?.(call, { givenUp: false }, demand);
      await driver.subscribe("news", listener);
      const old = await redis.master();
      await old.kill();
      const again = () => evaluate(driver, increment, [key]).then(Number, () => 0);
      const counted = until(async () => (await again()) > 2);
      const master = await redis.successor(old);
      await counted;
      await listener.until(2);
      expect(driver.resets).toBeGreaterThan(0);
      expect(driver.placeOf?.(key)).toBe(`127.0.0.1:${master.port}`);
      await ask(master, "PUBLISH", "news", "after");
      await listener.until(3);
      expect(listener.heard.at(-1)).toBe(">after");
      const acknowledged = () =>
        driver.runReplicated?.(call, { givenUp: false }, demand).catch(() => undefined);
      await until(async () => (await acknowledged()) !== undefined);
    });

    it("take calls through a client that is reserved", async () => {
      const driver = await drive({ reserveClient: true });
      const calls = [1, 2, 3].map(() => evaluate(driver, increment, [key]));
      expect(await Promise.all(calls)).toEqual([1, 2, 3]);
    });
  });
}
