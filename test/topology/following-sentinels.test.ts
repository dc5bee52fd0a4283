import { once } from "node:events";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { Driver } from "../../src/driver/driver.js";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { events } from "../../src/events.js";
import { Holdfast } from "../../src/holdfast.js";
import { allPairs } from "../support/clients/all-pairs.js";
import { destroyClient, quickEnd } from "../support/clients/ioredis-clients.js";
import type { ConnectedClient, Pair } from "../support/clients/pair.js";
import { pairs } from "../support/clients/pairs.js";
import { startProxy } from "../support/faults/tcp-proxy.js";
import { findLeaks, openThings, watchLeaks } from "../support/run/leaks.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
import { until } from "../support/run/until.js";
import { ask, info } from "../support/servers/ask.js";
import type { RedisServer } from "../support/servers/redis-server.js";
import { startSentinels, type WatchedRedis } from "../support/servers/sentinels.js";

const TEST_MS = 40_000;
const HOUR_MS = 3_600_000;
const NAME = "order:7";
/** Nothing is sent but what a test asks for. */
const auto = { replicas: { mode: "auto" }, safetyPeriodMs: HOUR_MS, watchdogMs: HOUR_MS } as const;

let servers: WatchedRedis;
beforeAll(async () => {
  servers = await startSentinels();
}, TEST_MS);
afterAll(() => servers.stop());
watchLeaks();
endRecordings();

const ends: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  await servers.settled();
  // Nobody tells the old master for minutes that it is one no longer, nor ends its clients' connections.
  await servers.announceEvery(60_000);
}, TEST_MS);
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  for (const server of [...servers.watchers, ...servers.nodes]) if (!server.running) await server.restart();
  await servers.settled();
  await ask(await servers.master(), "FLUSHALL");
}, TEST_MS);

type SentinelPair = Pair<"sentinel">;
const claimed = pairs.filter((pair): pair is SentinelPair => pair.topology === "sentinel");
const clients = (allPairs ? claimed : claimed.filter(({ client }) => / 6$/.test(client))).map(
  (pair) => [pair.client, pair] as const,
);

async function connect({ connect }: SentinelPair): Promise<{ driver: Driver; holdfast: Holdfast }> {
  const { sentinels, name } = servers;
  const client: ConnectedClient = await connect({ sentinels, name });
  ends.push(() => client.end());
  const driver = client.drive();
  const holdfast = new Holdfast(driver, auto);
  ends.push(() => holdfast.close({ releaseHeld: true }));
  return { driver, holdfast };
}

function ioredis(options: object = {}): { redis: Redis; holdfast: Holdfast } {
  const { sentinels, name } = servers;
  const redis = new Redis({
    sentinels: [...sentinels],
    name,
    retryStrategy: () => 20,
    ...quickEnd,
    ...options,
  });
  redis.on("error", () => undefined);
  ends.push(() => destroyClient(redis));
  const holdfast = new Holdfast(ioredisDriver(redis), auto);
  ends.push(() => holdfast.close({ releaseHeld: true }));
  return { redis, holdfast };
}

/** For the rest of the test, or until `resume` is called. */
async function freeze(server: RedisServer): Promise<void> {
  await server.pause();
  ends.push(async () => server.resume());
}

async function has(server: RedisServer, key: string): Promise<boolean> {
  return (await ask(server, "EXISTS", key)) === 1;
}

test.each(clients)(
  "a planned failover: %s goes to the new master though the old one still takes writes, and who waits hears of a release there [own-6]",
  { timeout: TEST_MS },
  async (_, pair) => {
    const [one, other] = [await connect(pair), await connect(pair)];
    const lease = await one.holdfast.getLock(NAME).lock();
    const waiting = other.holdfast.getLock(NAME).lock();
    await until(async () => String(await ask(await servers.master(), "PUBSUB", "CHANNELS")).includes(NAME));
    const old = await servers.master();
    const master = await servers.failover();
    await until(() =>
      [one, other].every(({ driver }) => driver.placeOf?.(NAME) === `127.0.0.1:${master.port}`),
    );
    await until(async () => String(await ask(master, "PUBSUB", "CHANNELS")).includes(NAME));
    expect((await info(old, "replication")).get("role")).toBe("master");
    await lease.unlock();
    await waiting;
    await one.holdfast.getLock("order:8").lock();
    expect([await has(master, NAME), await has(master, "order:8"), await has(old, "order:8")]).toEqual([
      true,
      true,
      false,
    ]);
  },
);

test.each(clients)(
  "a master that stood still and goes on: %s enters at its successor",
  { timeout: TEST_MS },
  async (_, pair) => {
    const { driver, holdfast } = await connect(pair);
    await (await holdfast.getLock(NAME).lock()).unlock();
    const old = await servers.master();
    await freeze(old);
    const locking = until(
      async () =>
        (await holdfast
          .getLock(NAME)
          .tryLock()
          .catch(() => null)) !== null,
    );
    const master = await servers.successor(old);
    old.resume();
    await locking;
    // What had been sent to the old one is carried out there as well, and nobody believes it.
    expect(await has(master, NAME)).toBe(true);
    expect(driver.placeOf?.(NAME)).toBe(`127.0.0.1:${master.port}`);
  },
);

test.each(clients)(
  "replicas that are gone: %s believes an acquisition that none has when the Sentinels have said who the master is, and tells of it each time [own-7]",
  { timeout: TEST_MS },
  async (_, pair) => {
    const short = recorded(events.replicasShort);
    const { holdfast } = await connect(pair);
    const enter = async () => (await holdfast.getLock(NAME).lock()).unlock();
    await enter();
    expect(short).toEqual([]);
    const master = await servers.master();
    for (const node of servers.nodes) if (node !== master) await node.kill();
    await until(async () => (await info(master, "replication")).get("connected_slaves") === "0");
    await enter();
    const told = short.length;
    expect(told).toBeGreaterThan(0);
    await enter();
    expect(short.length).toBeGreaterThan(told);
    expect(short.at(-1)).toMatchObject({ acknowledged: 0, wanted: 1 });
  },
);

test("replicas that are gone, and most Sentinels with them: nothing is believed until these are back", {
  timeout: TEST_MS,
}, async () => {
  const { holdfast } = ioredis();
  await (await holdfast.getLock(NAME).lock()).unlock();
  const master = await servers.master();
  for (const watcher of servers.watchers.slice(1)) await freeze(watcher);
  for (const node of servers.nodes) if (node !== master) await node.kill();
  await until(async () => (await info(master, "replication")).get("connected_slaves") === "0");
  await expect(holdfast.getLock(NAME).lock()).rejects.toMatchObject({
    code: "ERR_HOLDFAST_UNAVAILABLE",
    outcomeUnknown: true,
  });
  for (const watcher of servers.watchers) watcher.resume();
  await until(
    async () =>
      (await holdfast
        .getLock("order:8")
        .tryLock()
        .catch(() => null)) !== null,
  );
});

test("Sentinels that are gone do no harm while the master is there", { timeout: TEST_MS }, async () => {
  const { redis, holdfast } = ioredis();
  const lock = holdfast.getLock(NAME);
  await (await lock.lock()).unlock();
  for (const watcher of servers.watchers) await watcher.kill();
  let opened = 0;
  const duplicate = redis.duplicate.bind(redis);
  redis.duplicate = (options) => {
    opened += 1;
    return duplicate(options);
  };
  const endMs = performance.now() + 1_000;
  while (performance.now() < endMs) await (await lock.lock()).unlock();
  // Each is tried again after 100 ms, and then after twice as long each time.
  expect(opened).toBeGreaterThan(0);
  expect(opened).toBeLessThanOrEqual(servers.watchers.length * 4);
});

test("connections to Sentinels are opened with the first command, with the client's settings for these, and closed with the client", {
  timeout: TEST_MS,
}, async () => {
  const password = "of the Sentinels";
  for (const watcher of servers.watchers) await ask(watcher, "ACL", "SETUSER", "default", `>${password}`);
  ends.push(() =>
    Promise.all(servers.watchers.map((watcher) => ask(watcher, "ACL", "SETUSER", "default", "nopass"))),
  );
  const listening = async () => {
    const lists = servers.watchers.map((watcher) => ask(watcher, "CLIENT", "LIST", "TYPE", "pubsub"));
    return (await Promise.all(lists)).filter((list) => String(list).includes("name=of-holdfast")).length;
  };
  const { redis, holdfast } = ioredis({ sentinelPassword: password, connectionName: "of-holdfast" });
  await once(redis, "ready");
  const before = openThings();
  expect(await listening()).toBe(0);
  await (await holdfast.getLock(NAME).lock()).unlock();
  await until(async () => (await listening()) === servers.watchers.length);
  await holdfast.close();
  expect(await findLeaks(before)).toEqual([]);
  await until(async () => (await listening()) === 0);
  expect(redis.status).toBe("ready");
});

test("a client that connects only once is left alone", { timeout: TEST_MS }, async () => {
  const { redis, holdfast } = ioredis({ retryStrategy: null });
  await (await holdfast.getLock(NAME).lock()).unlock();
  const master = await servers.failover();
  await holdfast.getLock(NAME).lock();
  expect([await has(master, NAME), redis.status]).toEqual([true, "ready"]);
});

test("addresses are mapped as the client maps them", { timeout: TEST_MS }, async () => {
  const { port } = await servers.master();
  const proxy = await startProxy(port);
  ends.push(() => proxy.close());
  const natMap = { [`127.0.0.1:${port}`]: { host: "127.0.0.1", port: proxy.port } };
  const { redis, holdfast } = ioredis({ natMap });
  const waited = once(redis, "close").then(() => "closed");
  await (await holdfast.getLock(NAME).lock()).unlock();
  await (await holdfast.getLock(NAME).lock()).unlock();
  expect(await Promise.race([waited, Promise.resolve("open")])).toBe("open");
});
