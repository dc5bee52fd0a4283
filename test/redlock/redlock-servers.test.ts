import type { Redis } from "ioredis";
import { afterEach, beforeEach, expect, test } from "vitest";
import Redlock, { type ExecutionError, ResourceLockedError } from "../../src/redlock/index.js";
import { destroyClient } from "../support/clients/ioredis-clients.js";
import { watchLeaks } from "../support/run/leaks.js";
import { type RedisServer, startRedis } from "../support/servers/redis-server.js";

const HOUR_MS = 3_600_000;
const SERVERS = 3;

watchLeaks();
let servers: RedisServer[];
let clients: Redis[];
let redlock: Redlock;
beforeEach(async () => {
  servers = await Promise.all(Array.from({ length: SERVERS }, () => startRedis()));
  clients = servers.map((server) => server.client({ retryStrategy: () => 20 }));
  await Promise.all(clients.map((client) => client.ping()));
  redlock = new Redlock(clients, { retryCount: 20 });
});
afterEach(async () => {
  // The client of a server that is away waits for it with its QUIT, until it is ended.
  const quitting = redlock.quit().catch(() => undefined);
  await Promise.all(clients.map((client) => destroyClient(client)));
  await quitting;
  await Promise.all(servers.map((server) => server.stop()));
});

const statsOf = async ({ attempts }: Pick<ExecutionError, "attempts">) => (await Promise.all(attempts))[0];
const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => Promise.reject(new Error("it did not fail")),
    (error: unknown) => error as ExecutionError,
  );
const keysOf = (client: Redis) => client.keys("*").then((keys) => keys.toSorted());

test("several servers: a lock is had by a majority, is extended and released on it, and votes are told", async () => {
  let lock = await redlock.acquire(["b", "a"], 5_000);
  expect(await statsOf(lock)).toMatchObject({ membershipSize: 3, quorumSize: 2, votesFor: new Set(clients) });
  expect(await Promise.all(clients.map(keysOf))).toEqual(Array(SERVERS).fill(["a", "b"]));
  lock = await lock.extend(HOUR_MS);
  for (const client of clients) expect(await client.pttl("a")).toBeGreaterThan(HOUR_MS / 2);
  const other = new Redlock(clients, { retryCount: 0 });
  const refused = await statsOf(await failureOf(other.acquire(["a"], 5_000)));
  expect([...(refused?.votesAgainst.values() ?? [])]).toEqual(
    clients.map(() => expect.any(ResourceLockedError)),
  );
  await lock.release();
  expect(await Promise.all(clients.map(keysOf))).toEqual(Array(SERVERS).fill([]));
  expect(await redlock.using(["a"], 1_000, async (signal) => signal.aborted)).toBe(false);
});

test("several servers: one that is away does no harm, and two do", async () => {
  await servers[0]?.kill();
  const errors: unknown[] = [];
  redlock.on("error", (error) => errors.push(error));
  const lock = await redlock.acquire(["a"], HOUR_MS);
  const stats = await statsOf(lock);
  expect([stats?.votesFor, [...(stats?.votesAgainst.keys() ?? [])]]).toEqual([
    new Set(clients.slice(1)),
    [clients[0]],
  ]);
  expect(errors).toEqual([stats?.votesAgainst.get(clients[0] as Redis)]);
  await lock.release();
  await servers[1]?.kill();
  const failure = await failureOf(redlock.acquire(["a"], 5_000, { retryCount: 0 }));
  expect(failure.name).toBe("ExecutionError");
  expect((await statsOf(failure))?.votesAgainst.size).toBe(2);
});

test("several servers: those that take their time are waited for, also without a second try", async () => {
  await Promise.all(clients.map((client) => client.call("CLIENT", "PAUSE", "300", "ALL")));
  const lock = await redlock.acquire(["a"], HOUR_MS, { retryCount: 0 });
  expect((await statsOf(lock))?.votesFor.size).toBeGreaterThan(1);
  await lock.release();
});

test("several servers: a majority that a real redlock has refuses at once, and is waited for", async () => {
  await Promise.all(clients.slice(1).map((client) => client.set("a", "of a redlock", "PX", 600)));
  const sinceMs = performance.now();
  const stats = await statsOf(await failureOf(redlock.acquire(["a"], 5_000, { retryCount: 0 })));
  expect(performance.now() - sinceMs).toBeLessThan(500);
  expect([...(stats?.votesAgainst.values() ?? [])]).toEqual(Array(2).fill(expect.any(ResourceLockedError)));
  await (await redlock.acquire(["a"], 5_000)).release();
});

test("several servers: a majority that does not answer is asked again within the tries", async () => {
  await Promise.all(clients.map((client) => client.call("CLIENT", "PAUSE", "1500", "ALL")));
  const sinceMs = performance.now();
  const lock = await redlock.acquire(["a"], HOUR_MS, { retryCount: -1 });
  expect(performance.now() - sinceMs).toBeGreaterThan(1_400);
  await lock.release();
});

test("several servers: the votes of a failure are those of each", async () => {
  await servers[1]?.kill();
  await servers[2]?.kill();
  const errors: unknown[] = [];
  redlock.on("error", (error) => errors.push(error));
  const stats = await statsOf(await failureOf(redlock.acquire(["a"], 5_000, { retryCount: 0 })));
  expect([...(stats?.votesFor ?? [])]).toEqual([clients[0]]);
  expect([...(stats?.votesAgainst ?? [])]).toEqual(
    clients.slice(1).map((client) => [client, expect.objectContaining({ code: "ERR_HOLDFAST_UNAVAILABLE" })]),
  );
  expect(errors).toEqual([...(stats?.votesAgainst.values() ?? [])]);
  expect(await clients[0]?.exists("a")).toBe(0);
});

test("several servers: the release of a lock on a majority that is away rejects with what is wrong", async () => {
  const lock = await redlock.acquire(["a"], HOUR_MS);
  await servers[1]?.kill();
  await servers[2]?.kill();
  const stats = await statsOf(await failureOf(lock.release()));
  expect([...(stats?.votesAgainst.values() ?? [])]).toEqual(
    clients.map(() => expect.objectContaining({ code: "ERR_HOLDFAST_UNAVAILABLE" })),
  );
});

test("several servers: what was had first has its whole duration, however long the last resource was waited for", async () => {
  await new Redlock(clients).acquire(["b"], 3_000);
  // "a" is had at once, and would end before "b" is free.
  const lock = await redlock.acquire(["a", "b"], 2_000, { retryCount: -1 });
  expect(await Promise.all(clients.map(keysOf))).toEqual(Array(SERVERS).fill(["a", "b"]));
  const refused = new Redlock(clients, { retryCount: 0 }).acquire(["a"], 2_000);
  expect(await statsOf(await failureOf(refused))).toMatchObject({ votesFor: new Set() });
  await lock.release();
});
