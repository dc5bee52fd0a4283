import { createRequire } from "node:module";
import type { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import Redlock, { ResourceLockedError } from "../../src/redlock/index.js";
import { destroyClient } from "../support/clients/ioredis-clients.js";
import { ioredisFlavours } from "../support/clients/ioredis-flavours.js";
import { destroyClient as destroyNodeRedis, versions } from "../support/clients/node-redis-clients.js";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { type RedisCluster, startCluster } from "../support/servers/redis-cluster.js";

/** Its types can not be found from ES modules. */
const { default: Redlock5 } = createRequire(import.meta.url)("redlock5") as {
  default: new (
    clients: unknown[],
    settings: object,
  ) => { acquire(names: string[], ms: number): Promise<{ release(): Promise<unknown> }> };
};
const NONE = { retryCount: 0 };

/** Of all connections that a server has. */
async function idsOf(redis: Redis): Promise<number[]> {
  const list = String(await redis.client("LIST"));
  return [...list.matchAll(/^id=(\d+)/gm)].map(([, id]) => Number(id));
}

/** Locks names of several slots by two redlocks of one client. */
async function cross(client: ConstructorParameters<typeof Redlock>[0]): Promise<void> {
  const redlock = new Redlock(client, { retryDelay: 50 });
  let lock = await redlock.acquire(["a", "b", "c", "{tag}d"], 5_000);
  const error = await new Redlock(client, NONE).acquire(["c"], 5_000).catch((reason: unknown) => reason);
  const [stats] = await Promise.all((error as Redlock & { attempts: Promise<never>[] }).attempts);
  expect([...(stats as never as { votesAgainst: Map<unknown, unknown> }).votesAgainst.values()]).toEqual([
    expect.any(ResourceLockedError),
  ]);
  const waiting = redlock.using(["b"], 1_000, async (signal) => signal.aborted);
  lock = await lock.extend(5_000);
  await lock.release();
  expect(await waiting).toBe(false);
}

describe("one server", () => {
  const redis = locksOnRedis();
  const ends: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
  });

  test.each(ioredisFlavours)("a client of $name", async ({ redis: make }) => {
    const client = make({ host: "127.0.0.1", port: redis.server.port });
    ends.push(() => destroyClient(client));
    await cross([client]);
    await new Redlock([client]).quit();
    await expect(client.ping()).rejects.toThrow();
  });

  test.each(ioredisFlavours)(
    "a client of $name with a keyPrefix, beside redlock itself",
    async ({ redis: make }) => {
      const admin = redis.server.client();
      const before = await idsOf(admin);
      const client = make({ host: "127.0.0.1", port: redis.server.port, keyPrefix: "app:" });
      ends.push(() => destroyClient(client));
      await cross([client]);
      const theirs = new Redlock5([client], NONE);
      const ours = new Redlock([client], NONE);
      const own = await ours.acquire(["a"], 5_000);
      expect(await admin.type("app:a")).toBe("hash");
      await expect(theirs.acquire(["a"], 5_000)).rejects.toThrow();
      await own.release();
      const other = await theirs.acquire(["a"], 5_000);
      await expect(ours.acquire(["a"], 5_000)).rejects.toThrow();
      await other.release();
      await ours.quit();
      await expect(client.ping()).rejects.toThrow();
      // What was opened beside it has ended with it, and is not opened while it is ended.
      await expect(ours.acquire(["a"], 5_000)).rejects.toThrow();
      await until(async () => (await idsOf(admin)).every((id) => before.includes(id)));
      await client.connect();
      const again = await ours.acquire(["a"], 5_000, { retryCount: 10 });
      await again.release();
      await ours.quit();
    },
  );

  test.each(versions)("a client of node-redis $version", async (version) => {
    const client = version.client({ url: redis.server.url });
    client.on("error", () => undefined);
    await client.connect();
    await cross([client]);
    await new Redlock([client]).quit();
    expect(client.isOpen).toBe(false);
  });

  test.each(versions)("a pool of node-redis $version", async (version) => {
    const pool = version.pool({ url: redis.server.url }, { minimum: 2, maximum: 2 });
    pool.on("error", () => undefined);
    await pool.connect();
    ends.push(async () => (pool.isOpen ? destroyNodeRedis(pool) : undefined));
    await cross([pool as never]);
    await new Redlock([pool as never]).quit();
    expect(pool.isOpen).toBe(false);
  });
});

describe("a cluster", () => {
  let cluster: RedisCluster;
  const SLOW_MS = 60_000;
  beforeAll(async () => {
    cluster = await startCluster();
  }, SLOW_MS);
  afterAll(() => cluster.stop(), SLOW_MS);
  const addresses = () => cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port }));

  test.each(ioredisFlavours)("several resources in different slots, by $name", async ({ cluster: make }) => {
    const client = make(addresses(), {});
    client.on("error", () => undefined);
    await cross([client]);
    await new Redlock([client]).quit();
  });

  test.each(ioredisFlavours)("a keyPrefix, by $name", async ({ cluster: make }) => {
    const client = make(addresses(), { keyPrefix: "app:" });
    client.on("error", () => undefined);
    await cross([client]);
    const lock = await new Redlock([client]).acquire(["a"], 5_000);
    expect(await client.type("a")).toBe("hash");
    await lock.release();
    await new Redlock([client]).quit();
  });

  test.each(versions)("several resources in different slots, by node-redis $version", async (version) => {
    const client = version.cluster({ rootNodes: addresses().map((socket) => ({ socket })) });
    client.on("error", () => undefined);
    await client.connect();
    await cross([client]);
    await new Redlock([client]).quit();
    expect(client.isOpen).toBe(false);
  });
});
