import { afterEach, describe, expect, test } from "vitest";
import { type Lease, type Lock, WrongTypeError } from "../../src/index.js";
import { waitingKey, writersQueueKey } from "../../src/protocol/names.js";
import { until } from "../support/run/until.js";
import { watched } from "../support/run/watched.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { fakeTime } from "../support/worlds/fake-time.js";
import { JVM, listed } from "../support/worlds/listed.js";

const redis = locksOnRedis();
const open = fakeTime();
const QUEUE = waitingKey("a");

afterEach(() => redis.plain.flushdb());

/** The ids of clients that are nowhere. */
const ids = (count: number) =>
  Array.from({ length: count }, (_, at) => `${String(at).padStart(8, "0")}-6f0a-8001-9d8e-0123456789ab`);

/** Puts members into the queue of the lock `a`, at places from 1 on. */
async function queue(...members: readonly string[]): Promise<void> {
  await redis.plain.zadd(QUEUE, ...members.flatMap((member, at) => [at + 1, member]));
}

describe("inspect tells the clients that wait", () => {
  test.each(["getLock", "getNonReentrantLock", "getFencedLock"] as const)(
    "for a lock of %s, in the order in which they are given it",
    async (get) => {
      const clients = [0, 1, 2, 3, 4].map(() => redis.holdfast());
      const [holder, ...others] = clients.map((client) => client[get]("a") as Lock);
      const lease = await holder?.lock();
      const waiting: Promise<Lease>[] = [];
      const looks = redis.holdfast();
      const inspected = () => looks.inspect("a");
      for (const lock of others) {
        waiting.push(lock.lock());
        await until(async () => (await inspected()).waitingClientCount === waiting.length);
      }
      // One more call of a client that stands there.
      if (others[0] !== undefined) waiting.push(others[0].lock());
      const state = await inspected();
      expect(state).toMatchObject({
        kind: get === "getFencedLock" ? "fenced-lock" : "lock",
        holders: [lease?.holder],
        queue: [],
        waitingClients: clients.slice(1).map(({ clientId }) => clientId),
        waitingClientCount: 4,
      });
      expect(state.listeners).toBeGreaterThanOrEqual(4);
      await lease?.unlock();
      await Promise.all(waiting.map(async (next) => (await next).unlock()));
      expect(await inspected()).toMatchObject({ kind: "none", waitingClients: [], waitingClientCount: 0 });
    },
  );

  test("for a write lock, behind readers and writers, also while it is free", async () => {
    const writers = [0, 1, 2].map(() => redis.holdfast());
    const looks = redis.holdfast();
    const [first, ...others] = writers.map((client) => client.getReadWriteLock("a").writeLock());
    const read = await looks.getReadWriteLock("a").readLock().lock();
    const waiting: Promise<Lease>[] = [];
    for (const lock of [first, ...others]) {
      if (lock !== undefined) waiting.push(lock.lock());
      await until(async () => (await looks.inspect("a")).waitingClientCount === waiting.length);
    }
    expect(await looks.inspect("a")).toMatchObject({
      kind: "read-write-lock",
      holders: [read.holder],
      waitingClients: writers.map(({ clientId }) => clientId),
    });
    expect(await listed(looks.locks({ sources: ["channels"] }))).toMatchObject([
      { key: "a", kind: "read-write-lock", waiting: writers.map(({ clientId }) => ({ holder: clientId })) },
    ]);
    await read.unlock();
    await Promise.all(waiting.map(async (next) => (await next).unlock()));
    await redis.plain.zadd(writersQueueKey("a"), 1, writers[0]?.clientId ?? "");
    expect(await listed(looks.locks({ sources: ["channels"] }))).toMatchObject([
      { key: "a", kind: "read-write-lock", holders: [] },
    ]);
    expect(await looks.inspect("a")).toMatchObject({ kind: "none", waitingClientCount: 1 });
  });

  test("on the embedded server, until they have had it, and that costs no command more", async () => {
    const { clock, connect, holdfast, driver } = open();
    const lease = await holdfast.getLock("a").lock();
    const others = [connect(), connect(), connect()];
    const waiting = others.map((other) => watched(other.holdfast.getLock("a").lock()));
    await clock.advance(10);
    const [first, second, third] = others.map((other) => other.holdfast.clientId);
    const before = driver.names.length;
    expect(await holdfast.inspect("a")).toMatchObject({
      listeners: 3,
      waitingClients: [first, second, third],
    });
    expect(driver.names.slice(before)).toEqual(["lock-inspect"]);
    await lease.unlock();
    await clock.advance(10);
    expect(await holdfast.inspect("a")).toMatchObject({
      holders: [expect.stringContaining(first ?? "")],
      waitingClients: [second, third],
    });
    for (const call of waiting) {
      await (call.outcome as { value: Lease } | undefined)?.value.unlock();
      await clock.advance(10);
    }
    expect(await holdfast.inspect("a")).toMatchObject({ kind: "none", waitingClients: [] });
  });
});

describe("inspect", () => {
  test("tells of a free lock that clients stand in its queue, and does not take it for a fair one", async () => {
    const [one = "", two = ""] = ids(2);
    await queue(one, two);
    await redis.plain.zadd(QUEUE, -1, JVM, -2, "given");
    const holdfast = redis.holdfast();
    expect(await holdfast.inspect("a")).toMatchObject({
      kind: "none",
      ttlMs: -2,
      holders: [],
      queue: [],
      waitingClients: [one, two],
      waitingClientCount: 2,
      listeners: 2,
    });
  });

  test("tells a thousand of them, and of more than ten thousand how many they are", async () => {
    const holdfast = redis.holdfast();
    await queue(...ids(2_000));
    const many = await holdfast.inspect("a");
    expect(many.waitingClients).toEqual(ids(1_000));
    expect(many).toMatchObject({ waitingClientCount: 2_000, listeners: 2_000 });
    await queue(...ids(10_001));
    expect(await holdfast.inspect("a")).toMatchObject({ waitingClients: [], waitingClientCount: 10_001 });
  });

  test.each([
    ["a text", "text"],
    ["a number that is no count", "1.5"],
  ])("refuses %s, for which a client waits", async (_, text) => {
    await queue(...ids(1));
    await redis.plain.set("a", text);
    await expect(redis.holdfast().inspect("a")).rejects.toThrow(WrongTypeError);
  });

  test.each<[string, () => Promise<unknown>]>([
    ["of another type", () => redis.plain.rpush(QUEUE, JVM)],
    ["with a member that is no client id", () => queue(JVM, "someone")],
    ["with a member as long as one", () => queue(JVM, "x".repeat(36))],
  ])("tells nobody of a key %s", async (_, store) => {
    await redis.plain.hset("a", `${JVM}:1`, "1");
    await store();
    const holdfast = redis.holdfast();
    expect(await holdfast.inspect("a")).toMatchObject({
      holders: [`${JVM}:1`],
      waitingClients: [],
      waitingClientCount: 0,
    });
  });

  test.each([
    ["the key", ["~a", "~{a}*", "~redisson_*", "+@all"]],
    ["ZRANGE", ["~*", "+@all", "-zrange"]],
    ["ZCOUNT", ["~*", "+@all", "-zcount"]],
  ])("tells nobody to a user who has no right to %s", async (_, rights) => {
    await queue(...ids(1));
    await redis.plain.hset("a", `${JVM}:1`, "1");
    await redis.plain.acl("SETUSER", "few", "reset", "on", ">secret", "&*", ...rights);
    const holdfast = redis.holdfast({}, { username: "few", password: "secret" });
    expect(await holdfast.inspect("a")).toMatchObject({ holders: [`${JVM}:1`], waitingClients: [] });
    await redis.plain.acl("DELUSER", "few");
  });
});
