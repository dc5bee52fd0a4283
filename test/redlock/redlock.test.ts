import { setTimeout as sleep } from "node:timers/promises";
import type { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import Redlock, {
  ExecutionError,
  Lock,
  ResourceLockedError,
  type Settings,
} from "../../src/redlock/index.js";
import { signalOf } from "../../src/redlock/routine.js";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";

const redis = locksOnRedis();
const HOUR_MS = 3_600_000;
const NONE = { retryCount: 0 };

let client: Redis;
let errors: unknown[];
let opened: Redlock[];
beforeEach(() => {
  client = redis.connect().redis;
  errors = [];
  opened = [];
});
afterEach(async () => {
  for (const each of opened) await each.quit().catch(() => undefined);
});

function open(settings?: Partial<Settings>): Redlock {
  const redlock = new Redlock([client], settings);
  redlock.on("error", (error) => errors.push(error));
  opened.push(redlock);
  return redlock;
}

/** On which somebody waits for a lock: those who wait behind their own client hear that client alone. */
async function channelsOf(key: string): Promise<readonly string[]> {
  return (await redis.plain.pubsub("CHANNELS", `redisson_lock__channel:{${key}}*`)) as string[];
}

/** What the one attempt has come to. */
async function statsOf({ attempts }: Pick<ExecutionError, "attempts">) {
  const all = await Promise.all(attempts);
  expect(all).toHaveLength(1);
  return all[0];
}

async function failureOf(call: Promise<unknown>): Promise<ExecutionError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ExecutionError);
  return error as ExecutionError;
}

describe("a redlock", () => {
  test("has the settings of redlock 5, and those that are numbers", () => {
    const { settings } = open({ retryCount: -1, retryDelay: "20" as unknown as number });
    expect(settings).toEqual({
      driftFactor: 0.01,
      retryCount: -1,
      retryDelay: 200,
      retryJitter: 100,
      automaticExtensionThreshold: 500,
      strictRelease: false,
    });
  });

  test("has its clients, and wants one", () => {
    expect(open().clients).toEqual(new Set([client]));
    expect(() => new Redlock([])).toThrow("Redlock must be instantiated with at least one redis client.");
    expect(() => new Redlock([7 as never])).toThrow(TypeError);
    expect(() => new Redlock([client], {}, { acquireScript: () => "return 1" })).toThrow(TypeError);
  });

  test("acquires, extends and releases", async () => {
    const redlock = open();
    const startMs = Date.now();
    const lock = await redlock.acquire(["a"], 5_000);
    expect(lock).toBeInstanceOf(Lock);
    expect(Lock.name).toBe("Lock");
    expect(lock).toMatchObject({ redlock, resources: ["a"] });
    expect(await redis.plain.hgetall("a")).toEqual({ [lock.value]: "1" });
    expect(lock.expiration).toBeGreaterThan(startMs);
    expect(lock.expiration).toBeLessThanOrEqual(Date.now() + 5_000 - 52);
    expect(await statsOf(lock)).toEqual({
      membershipSize: 1,
      quorumSize: 1,
      votesFor: new Set([client]),
      votesAgainst: new Map(),
    });

    const extended = await lock.extend(HOUR_MS);
    expect(await redis.plain.pttl("a")).toBeGreaterThan(HOUR_MS / 2);
    expect([lock.expiration, extended.value]).toEqual([0, lock.value]);
    expect(extended.expiration).toBeGreaterThan(startMs + HOUR_MS / 2);

    expect(await statsOf(await extended.release())).toMatchObject({ votesFor: new Set([client]) });
    expect([extended.expiration, await redis.plain.exists("a"), errors]).toEqual([0, 0, []]);
  });

  test("is not re-entrant: a second call is refused when its tries would be over", async () => {
    const redlock = open({ retryCount: 2, retryDelay: 20, retryJitter: 0 });
    const lock = await redlock.acquire(["a"], HOUR_MS);
    const sinceMs = performance.now();
    const error = await failureOf(redlock.acquire(["a"], 5_000));
    expect(performance.now() - sinceMs).toBeGreaterThanOrEqual(39);
    expect(error.message).toBe("The operation was unable to achieve a quorum during its retry window.");
    const stats = await statsOf(error);
    expect(stats?.votesFor.size).toBe(0);
    expect([...(stats?.votesAgainst ?? [])]).toEqual([[client, expect.any(ResourceLockedError)]]);
    expect(errors).toEqual([...(stats?.votesAgainst.values() ?? [])]);
    await lock.release();
  });

  test("waits for a lock by its message, for ever with -1 tries", async () => {
    const redlock = open({ retryCount: -1, retryDelay: HOUR_MS });
    const lock = await redlock.acquire(["a"], HOUR_MS);
    const waiting = redlock.acquire(["a"], 5_000);
    await until(async () => (await channelsOf("a")).length === 1);
    await lock.release();
    await (await waiting).release();
    expect(errors).toEqual([]);
  });

  test("locks several resources, or none", async () => {
    const redlock = open();
    const both = await redlock.acquire(["a", "b", "a"], HOUR_MS);
    expect((await redis.plain.keys("*")).toSorted()).toEqual(["a", "b"]);
    await failureOf(redlock.acquire(["b", "c"], 5_000, NONE));
    expect(await redis.plain.exists("c")).toBe(0);
    await both.release();
    await expect(redlock.acquire(["a"], 1.5)).rejects.toThrow(
      "Duration must be an integer value in milliseconds.",
    );
  });

  test("refuses to extend what has ended", async () => {
    const redlock = open();
    const lock = await redlock.acquire(["a"], HOUR_MS);
    await lock.release();
    const error = await failureOf(lock.extend(5_000));
    expect([error.message, error.attempts]).toEqual(["Cannot extend an already-expired lock.", []]);
    const gone = await redlock.acquire(["a"], HOUR_MS);
    await redis.plain.del("a");
    await failureOf(gone.extend(5_000));
    expect(errors).toHaveLength(1);
  });

  test("tells the release of a lock that has ended, and rejects it with strictRelease", async () => {
    for (const strictRelease of [false, true]) {
      const redlock = open({ strictRelease });
      const lock = await redlock.acquire(["a"], HOUR_MS);
      await redis.plain.del("a");
      if (strictRelease) await failureOf(lock.release());
      else await lock.release();
      if (strictRelease) await failureOf(lock.release());
      else expect((await statsOf(await lock.release()))?.votesFor.size).toBe(0);
    }
    expect(errors.map((error) => (error as Error).name)).toEqual(Array(4).fill("NotHeldError"));
  });

  test("releases in another process what is made anew from its parts, and nothing else", async () => {
    const { resources, value, expiration } = await open().acquire(["a", "b"], HOUR_MS);
    const elsewhere = open();
    await new Lock(elsewhere, resources, "another", [], expiration).release();
    expect(await redis.plain.exists("a", "b")).toBe(2);
    const { attempts } = await new Lock(elsewhere, resources, value, [], expiration).release();
    expect([(await statsOf({ attempts }))?.votesFor.size, await redis.plain.exists("a", "b")]).toEqual([
      1, 0,
    ]);
    await failureOf(new Lock(elsewhere, resources, value, [], expiration).extend(5_000));
  });

  test("runs a routine under a lock that is renewed, and answers what that answers", async () => {
    const redlock = open();
    const given: unknown[] = [];
    const value = await redlock.using(["a", "b"], 1_000, async (signal) => {
      given.push(signal.aborted, signal.error, await redis.plain.exists("a", "b"));
      // Longer than the duration.
      await sleep(1_500);
      given.push(signal.aborted, await redis.plain.exists("a", "b"));
      return 7;
    });
    expect([value, given, await redis.plain.exists("a", "b")]).toEqual([
      7,
      [false, undefined, 2, false, 2],
      0,
    ]);
    await expect(
      redlock.using(["a"], 1_000, NONE, () => Promise.reject(new Error("of the routine"))),
    ).rejects.toThrow("of the routine");
    expect([await redis.plain.exists("a"), errors]).toEqual([0, []]);
    await expect(redlock.using(["a"], 599, async () => 1)).rejects.toThrow("at least 100ms greater");
    await expect(redlock.using(["a"], 1_000, NONE)).rejects.toThrow("routine is not a function");
  });

  test("tells by name and cause that Redis is away", async () => {
    const proxy = await redis.proxy();
    const away = redis.connect(
      {},
      { port: proxy.port, maxRetriesPerRequest: 0, retryStrategy: () => null },
    ).redis;
    const redlock = new Redlock([away]);
    opened.push(redlock);
    await (await redlock.acquire(["a"], 5_000)).release();
    away.disconnect();
    const stats = await statsOf(await failureOf(redlock.acquire(["a"], 5_000, NONE)));
    expect(stats?.votesAgainst.get(away)).toBeInstanceOf(Error);
    expect(stats?.votesAgainst.get(away)).not.toBeInstanceOf(ResourceLockedError);
  });

  test("takes drivers and Holdfasts for clients, and its locks are those of holdfast", async () => {
    const holdfast = new Holdfast(ioredisDriver(client));
    const lease = await holdfast.lock("a", { leaseMs: HOUR_MS });
    for (const one of [holdfast, ioredisDriver(client)]) {
      const redlock = new Redlock([one]);
      await failureOf(redlock.acquire(["a"], 5_000, NONE));
      await (await redlock.acquire(["b"], 5_000)).release();
      if (one !== holdfast) await redlock.quit();
    }
    await lease.unlock();
    await new Redlock([holdfast]).quit();
    await expect(holdfast.lock("a")).rejects.toMatchObject({ code: "ERR_HOLDFAST_CLOSED" });
  });

  test("ends with its client", async () => {
    const redlock = open();
    const lock = await redlock.acquire(["a"], 5_000);
    void redlock.acquire(["a"], 5_000).catch(() => undefined);
    await until(async () => (await channelsOf("a")).length === 1);
    await lock.release();
    await redlock.quit();
    expect(await channelsOf("a")).toEqual([]);
    await expect(client.ping()).rejects.toThrow();
    await redis.plain.del("a");
  });
});

describe("what redlock 4 has", () => {
  test("locks by name or names, and changes the lock that it extends", async () => {
    const redlock = open();
    const lock = await redlock.lock("a", 5_000);
    expect([lock.resource, await redis.plain.hgetall("a")]).toEqual([["a"], { [lock.value]: "1" }]);
    expect(await lock.extend(HOUR_MS)).toBe(lock);
    expect(lock.expiration).toBeGreaterThan(Date.now() + HOUR_MS / 2);
    await lock.extend(5_000);
    const error = await redlock.lockWithOptions(["a"], 5_000, NONE).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Redlock.LockError);
    expect(error).toMatchObject({ name: "LockError" });
    await redlock.unlock(lock);
    await (await redlock.acquire("a", 5_000)).unlock();
    expect(await redis.plain.exists("a")).toBe(0);
  });

  test("takes no callbacks and makes no disposers, and says what to write", async () => {
    const redlock = open();
    const callback = () => undefined;
    await expect(redlock.lock("a", 5_000, callback)).rejects.toThrow("await redlock.lock(resource, ttl)");
    await expect(redlock.acquire("a", 5_000, callback as never)).rejects.toThrow("await redlock.acquire");
    expect(() => redlock.disposer()).toThrow("await redlock.using([resource], ttl");
    expect(await redis.plain.exists("a")).toBe(0);
  });
});

test("a lock that is lost before its routine begins is told by a signal that has aborted", () => {
  const reason = new Error("it ended");
  const held = [new AbortController().signal, AbortSignal.abort(reason)].map(
    (signal) => ({ signal }) as Lease,
  );
  const { signal } = signalOf(held, (cause) => new Error("lost", { cause }));
  expect([signal.aborted, signal.error]).toEqual([true, new Error("lost", { cause: reason })]);
});
