import type { Redis } from "ioredis";
import { beforeEach, expect, test } from "vitest";
import Redlock, { type ExecutionError, type Lock, LockError } from "../../src/redlock/index.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";

const redis = locksOnRedis();
const HOUR_MS = 3_600_000;
const NONE = { retryCount: 0 };

let client: Redis;
let redlock: Redlock;
beforeEach(() => {
  client = redis.connect().redis;
  redlock = new Redlock([client], NONE);
});

type Failure = LockError & { readonly cause?: ExecutionError };
const failureOf = (call: Promise<unknown>): Promise<Failure> =>
  call.then(
    () => Promise.reject(new Error("it did not fail")),
    (error: unknown) => error as Failure,
  );

test("redlock 4: all ways to lock by name give a lock which its extension changes, again and again", async () => {
  const ways: readonly (() => Promise<Lock>)[] = [
    () => redlock.lock("a", 5_000),
    () => redlock.lock(["a"], 5_000),
    () => redlock.acquire("a", 5_000),
    () => redlock.lockWithOptions("a", 5_000, {}),
    () => redlock.acquireWithOptions("a", 5_000, {}),
  ];
  for (const lockIt of ways) {
    const lock = await lockIt();
    expect(lock).toBeInstanceOf(Redlock.Lock);
    expect(lock.resource).toEqual(["a"]);
    for (const durationMs of [5_000, HOUR_MS]) {
      expect(await redlock.extend(lock, durationMs)).toBe(lock);
      expect(await lock.extend(durationMs)).toBe(lock);
    }
    expect(lock.expiration).toBeGreaterThan(Date.now() + HOUR_MS / 2);
    await lock.unlock();
    expect([lock.expiration, await redis.plain.exists("a")]).toEqual([0, 0]);
  }
});

test("redlock 4: failures are LockErrors in its words, with the votes in their cause", async () => {
  const lock = await redlock.lock(["a", "b"], 5_000);
  const locked = 'Exceeded 0 attempts to lock the resource "a".';
  for (const call of [redlock.lock("a", 5_000), redlock.acquire("a", 5_000)]) {
    const error = await failureOf(call);
    expect(error).toBeInstanceOf(LockError);
    expect([error.name, error.message, error.attempts]).toEqual(["LockError", locked, 1]);
    expect((await error.cause?.attempts[0])?.votesAgainst.get(client)?.name).toBe("ResourceLockedError");
  }
  await redis.plain.del("a", "b");
  expect((await failureOf(lock.extend(5_000))).message).toBe(
    'Exceeded 0 attempts to lock the resource "a,b".',
  );
  await lock.unlock();
  for (const call of [lock.extend(5_000), redlock.extend(lock, 5_000)])
    expect((await failureOf(call)).message).toBe(
      'Cannot extend lock on resource "a,b" because the lock has already expired.',
    );
  expect(new LockError().message).toBe("Failed to lock the resource.");
});

test("redlock 4: the release of a lock that has ended resolves, and rejects with strictRelease", async () => {
  const strict = new Redlock([client], { ...NONE, strictRelease: true });
  for (const one of [redlock, strict]) {
    const lock = await one.lock("a", 5_000);
    await redis.plain.del("a");
    for (const call of [() => lock.unlock(), () => one.unlock(lock), () => one.release(lock)]) {
      if (one === redlock) await call();
      else {
        const { name, message } = await failureOf(call());
        expect([name, message]).toEqual(["LockError", 'Unable to fully release the lock on resource "a".']);
      }
    }
  }
  const plain = await strict.acquire(["a"], 5_000);
  await redis.plain.del("a");
  expect(await failureOf(plain.unlock())).toBeInstanceOf(LockError);
});

test("redlock 4: clientError tells what is wrong with a client, and nothing about locks", async () => {
  const told: unknown[] = [];
  redlock.on("clientError", (error) => told.push(error));
  const lock = await redlock.lock("a", 5_000);
  await failureOf(redlock.lock("a", 5_000));
  await redis.plain.del("a");
  await lock.unlock();
  expect(told).toEqual([]);
  await redlock.quit();
  await failureOf(redlock.lock("a", 5_000));
  expect(told).toEqual([expect.any(Error)]);
});

test("redlock 4: callbacks are refused wherever it takes them", async () => {
  const lock = await redlock.lock("a", 5_000);
  const callback = () => undefined;
  const calls = [
    [redlock.lock("b", 5_000, callback), "await redlock.lock(resource, ttl)"],
    [redlock.acquire("b", 5_000, callback as never), "await redlock.acquire("],
    [redlock.lockWithOptions("b", 5_000, {}, callback), "await redlock.lockWithOptions("],
    [redlock.acquireWithOptions("b", 5_000, {}, callback), "await redlock.lockWithOptions("],
    [redlock.extend(lock, 5_000, callback as never), "await redlock.extend("],
    [redlock.release(lock, callback as never), "await redlock.release("],
    [redlock.unlock(lock, callback), "await redlock.unlock("],
    [redlock.quit(callback), "await redlock.quit()"],
    [lock.extend(5_000, callback), "await lock.extend(ttl)"],
    [lock.unlock(callback), "await lock.unlock()"],
  ] as const;
  for (const [call, instead] of calls) await expect(call).rejects.toThrow(instead);
  expect(await redis.plain.exists("a", "b")).toBe(1);
  await lock.unlock();
});

test("redlock 4: scripts among the options are refused, as those of redlock 5 are", () => {
  const options = { lockScript: (script: string) => script };
  expect(() => new Redlock([client], options as never)).toThrow("runs its own scripts");
});
