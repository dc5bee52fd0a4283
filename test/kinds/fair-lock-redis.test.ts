import type { Redis } from "ioredis";
import { describe, expect, test } from "vitest";
import { ALIVE, QUEUE, TIMEOUTS } from "../support/fair-queue.js";
import { locksOnRedis } from "../support/locks-on-redis.js";
import { until } from "../support/until.js";

const redis = locksOnRedis();
const HOUR_MS = 60 * 60 * 1_000;

async function queued(count: number): Promise<void> {
  await until(async () => (await redis.plain.llen(QUEUE)) === count);
  await until(async () => (await redis.plain.pubsub("CHANNELS")).length === count);
}

async function noTrace(): Promise<void> {
  await until(async () => (await redis.plain.exists(QUEUE, TIMEOUTS, ALIVE)) === 0);
}

describe("a timed wait for a fair lock while the server stops writing [RedissonFairLockTest 13]", () => {
  test("that begins meanwhile ends without an error, and the queue is empty", async () => {
    const [holder, waiter] = [redis.holdfast(), redis.holdfast()];
    const lease = await holder.getFairLock("a").lock({ leaseMs: HOUR_MS });
    await waiter.getFairLock("b").isLocked();
    await redis.plain.call("CLIENT", "PAUSE", 800, "WRITE");
    expect(await waiter.getFairLock("a").tryLock({ waitMs: 100 })).toBeNull();
    await noTrace();
    await lease.unlock();
  });

  test("that ends meanwhile does so without an error, and the queue is empty", async () => {
    const [holder, waiter] = [redis.holdfast(), redis.holdfast()];
    const lease = await holder.getFairLock("a").lock({ leaseMs: HOUR_MS });
    const waiting = waiter.getFairLock("a").tryLock({ waitMs: 500 });
    await queued(1);
    await redis.plain.call("CLIENT", "PAUSE", 1_200, "WRITE");
    expect(await waiting).toBeNull();
    await noTrace();
    await lease.unlock();
  });
});

describe("waiters of a fair lock enter in their order", () => {
  async function inOrder(harm: (plain: Redis) => Promise<unknown>): Promise<void> {
    const holder = redis.holdfast();
    const lease = await holder.getFairLock("a").lock({ leaseMs: HOUR_MS });
    const entered: number[] = [];
    const waiting: Promise<unknown>[] = [];
    for (let i = 0; i < 4; i++) {
      waiting.push(
        redis
          .holdfast()
          .getFairLock("a")
          .using(() => entered.push(i)),
      );
      await queued(i + 1);
    }
    await harm(redis.plain);
    await lease.unlock();
    await Promise.all(waiting);
    expect(entered).toEqual([0, 1, 2, 3]);
    await noTrace();
  }

  test("when the server forgets the scripts", () => inOrder((plain) => plain.script("FLUSH")));

  test("when the connections on which they listen break [R4]", () =>
    inOrder((plain) => plain.call("CLIENT", "KILL", "TYPE", "pubsub")));

  test("when all connections break [R4]", () =>
    inOrder((plain) => plain.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")));
});

describe("a server that comes back empty", () => {
  test("lets those enter who waited, one at a time", async () => {
    const holder = redis.holdfast();
    await holder.getFairLock("a").lock({ leaseMs: HOUR_MS });
    let inside = 0;
    const most: number[] = [];
    const waiting = Array.from({ length: 4 }, () =>
      redis
        .holdfast()
        .getFairLock("a")
        .using(async () => {
          inside += 1;
          most.push(inside);
          await new Promise(setImmediate);
          inside -= 1;
        }),
    );
    await queued(4);
    await redis.server.kill();
    await redis.server.restart();
    await Promise.all(waiting);
    expect(most).toEqual([1, 1, 1, 1]);
    await noTrace();
  });
});
