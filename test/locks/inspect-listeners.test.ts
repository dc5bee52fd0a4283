import { Cluster } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PubSub } from "../../src/client-options.js";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { Holdfast } from "../../src/holdfast.js";
import { quickEnd } from "../support/clients/ioredis-clients.js";
import { until } from "../support/run/until.js";
import { watched } from "../support/run/watched.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { type RedisCluster, startCluster } from "../support/servers/redis-cluster.js";
import { fakeTime } from "../support/worlds/fake-time.js";

const redis = locksOnRedis();
const open = fakeTime();

describe("inspect", () => {
  test("says how many processes wait for a plain lock [own-24]", async () => {
    const [holder, one, other] = [redis.holdfast(), redis.holdfast(), redis.holdfast()];
    const lease = await holder.getLock("a").lock();
    expect(await holder.inspect("a")).toMatchObject({ queue: [], waitingClients: [], listeners: 0 });
    const waiting = [one.getLock("a").lock(), one.getLock("a").lock(), other.getLock("a").lock()];
    await until(async () => (await holder.inspect("a")).listeners === 2);
    expect((await holder.inspect("a")).queue).toEqual([]);
    await lease.unlock();
    await Promise.all(waiting.map(async (next) => (await next).unlock()));
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
    const next = connect().holdfast;
    const waiting = watched(next.getLock("a").lock());
    await clock.advance(10);
    const before = driver.names.length;
    expect(await holdfast.inspect("a")).toMatchObject({
      queue: [],
      waitingClients: [next.clientId],
      waitingClientCount: 1,
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
