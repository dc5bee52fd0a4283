import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { Holdfast } from "../../src/holdfast.js";
import { destroyClient, quickEnd } from "../support/clients/ioredis-clients.js";
import { findLeaks, openThings } from "../support/run/leaks.js";
import { until } from "../support/run/until.js";
import { ask } from "../support/servers/ask.js";
import { startSentinels, type WatchedRedis } from "../support/servers/sentinels.js";

let servers: WatchedRedis;
beforeAll(async () => {
  servers = await startSentinels();
});
afterAll(() => servers.stop());

test("a client that was pointed at a Sentinel as if it were a server is told what to do", async () => {
  const [sentinel] = servers.sentinels;
  const redis = new Redis({ ...sentinel, ...quickEnd });
  const holdfast = new Holdfast(ioredisDriver(redis));
  await expect(holdfast.getLock("order:7").lock()).rejects.toMatchObject({
    code: "ERR_HOLDFAST_UNAVAILABLE",
    message: expect.stringContaining("make the client with the Sentinels' addresses"),
  });
  await holdfast.close();
  await destroyClient(redis);
});

test("a client that listens to the Sentinels itself has no further connections to them for holdfast's", async () => {
  const { name, watchers } = servers;
  const redis = new Redis({ sentinels: [...servers.sentinels], name, failoverDetector: true, ...quickEnd });
  await until(async () => {
    const listening = watchers.map((watcher) => ask(watcher, "CLIENT", "LIST", "TYPE", "pubsub"));
    return (await Promise.all(listening)).every((clients) => clients !== "");
  });
  const before = openThings();
  for (let round = 0; round < 2; round++) {
    const [one, other] = [new Holdfast(ioredisDriver(redis)), new Holdfast(ioredisDriver(redis))];
    const lease = await one.getLock("order:7").lock();
    const waiting = other.getLock("order:7").lock();
    await lease.unlock();
    await (await waiting).unlock();
    await Promise.all([one.close(), other.close()]);
  }
  expect(await findLeaks(before)).toEqual([]);
  redis.disconnect();
});

test("a client that listens to the Sentinels itself connects to the new master once", async () => {
  const { name } = servers;
  const redis = new Redis({ sentinels: [...servers.sentinels], name, failoverDetector: true, ...quickEnd });
  const holdfast = new Holdfast(ioredisDriver(redis));
  await (await holdfast.getLock("order:7").lock()).unlock();
  // Where a Sentinel is late, it is told of the old master once more before, and ioredis leaves the new one when that Sentinel tells of it.
  const ports: (number | undefined)[] = [];
  const left: (number | undefined)[] = [];
  redis.on("ready", () => ports.push(redis.stream.remotePort));
  // Not where somebody else ends its connection, as holdfast could do by `disconnect` of the client.
  let isAsked = false;
  const end = redis.disconnect.bind(redis);
  redis.disconnect = (...args) => {
    isAsked = true;
    end(...args);
    isAsked = false;
  };
  const { connector } = redis as unknown as { readonly connector: { disconnect(): void } };
  const disconnect = connector.disconnect.bind(connector);
  connector.disconnect = () => {
    if (!isAsked) left.push(redis.stream.remotePort);
    disconnect();
  };
  const master = await servers.failover();
  const lease = await holdfast.getLock("order:7").lock();
  expect(await ask(master, "EXISTS", "order:7")).toBe(1);
  await lease.unlock();
  await until(() => redis.status === "ready" && redis.stream.remotePort === master.port);
  const times = (of: readonly unknown[]) => of.filter((port) => port === master.port).length;
  expect(times(ports)).toBe(1 + times(left));
  expect(redis.options.failoverDetector).toBe(true);
  await holdfast.close();
  redis.disconnect();
});
