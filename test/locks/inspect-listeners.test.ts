import { Cluster } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PubSub } from "../../src/client-options.js";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import { quickEnd } from "../support/clients/ioredis-clients.js";
import { until } from "../support/run/until.js";
import { watched } from "../support/run/watched.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { type RedisCluster, startCluster } from "../support/servers/redis-cluster.js";
import { fakeTime } from "../support/worlds/fake-time.js";

const redis = locksOnRedis();
const open = fakeTime();

describe("inspect", () => {
  test("says which clients wait for a plain lock, the next first, and how many listen at least [own-24]", async () => {
    const holder = redis.holdfast();
    const lease = await holder.getLock("a").lock();
    const others = [redis.holdfast(), redis.holdfast(), redis.holdfast(), redis.holdfast()];
    const ids: string[] = [];
    const waiting: Promise<Lease>[] = [];
    for (const other of others) {
      expect(await holder.inspect("a")).toMatchObject({ queue: [], waitingClients: ids });
      waiting.push(other.getLock("a").lock(), other.getLock("a").lock());
      ids.push(other.clientId);
      await until(async () => (await holder.inspect("a")).waitingClients.length === ids.length);
    }
    const { kind, waitingClients, queue, listeners = 0 } = await holder.inspect("a");
    expect({ kind, waitingClients, queue }).toEqual({ kind: "lock", waitingClients: ids, queue: [] });
    expect(listeners).toBe(4);
    await lease.unlock();
    await Promise.all(waiting.map(async (next) => (await next).unlock()));
    expect((await holder.inspect("a")).waitingClients).toEqual([]);
  });

  test("counts those who wait for a read-write lock, and names those who wait for a fair one", async () => {
    const [holder, one] = [redis.holdfast(), redis.holdfast()];
    const write = await holder.getReadWriteLock("rw").writeLock().lock();
    const fair = await holder.getFairLock("f").lock();
    const reading = one.getReadWriteLock("rw").readLock().lock();
    const queued = one.getFairLock("f").lock();
    await until(async () => (await holder.inspect("rw")).listeners === 1);
    await until(async () => (await holder.inspect("f")).queue.length === 1);
    expect(await holder.inspect("f")).toMatchObject({ kind: "fair-lock", listeners: 0 });
    await write.unlock();
    await fair.unlock();
    await (await reading).unlock();
    await (await queued).unlock();
  });

  test("does so on the embedded server, and that costs no command more", async () => {
    const { clock, connect, holdfast, driver } = open();
    const lease = await holdfast.getLock("a").lock();
    const waiting = watched(connect().holdfast.getLock("a").lock());
    await clock.advance(10);
    const before = driver.names.length;
    expect(await holdfast.inspect("a")).toMatchObject({
      queue: [],
      waitingClients: [expect.any(String)],
      listeners: 1,
      ownHolders: [lease.holder],
    });
    expect(driver.names.slice(before)).toEqual(["lock-inspect"]);
    await lease.unlock();
    await clock.advance(30_000);
    expect(waiting.outcome).toHaveProperty("value");
    await holdfast.getLock("a").forceUnlock();
  });

  test("says nothing of listeners where PUBSUB is not allowed", async () => {
    await redis.plain.acl("SETUSER", "mute", "on", ">secret", "~*", "&*", "+@all", "-pubsub");
    const holdfast = redis.holdfast({}, { username: "mute", password: "secret" });
    expect(await holdfast.inspect("a")).not.toHaveProperty("listeners");
    await redis.plain.acl("DELUSER", "mute");
  });

  describe("in a cluster", () => {
    let cluster: RedisCluster;
    beforeAll(async () => {
      cluster = await startCluster();
    });
    afterAll(() => cluster.stop());

    test.each([
      ["sharded", 1],
      ["classic", undefined],
      ["both", undefined],
    ] as const)(
      "counts the listeners of a lock only with sharded messages: %s",
      async (pubSub: PubSub, listeners) => {
        const nodes = cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
        const clients = [1, 2].map(() => new Cluster(nodes, { redisOptions: quickEnd }));
        for (const client of clients) client.on("error", () => undefined);
        const [holder, waiter] = clients.map((client) => new Holdfast(ioredisDriver(client), { pubSub })) as [
          Holdfast,
          Holdfast,
        ];
        const lease = await holder.getLock("a").lock();
        const waiting = waiter.getLock("a").lock();
        await until(async () => (await holder.inspect("a")).listeners === listeners);
        expect(Object.hasOwn(await holder.inspect("a"), "listeners")).toBe(listeners !== undefined);
        await lease.unlock();
        await (await waiting).unlock();
        await Promise.all([holder.close(), waiter.close()]);
        for (const client of clients) client.disconnect();
      },
    );
  });
});
