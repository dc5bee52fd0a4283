import type { Redis } from "ioredis";
import { describe, expect, test } from "vitest";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { Holdfast } from "../../src/holdfast.js";
import { destroyClient } from "../support/clients/ioredis-clients.js";
import { ScriptedDriver } from "../support/drivers/scripted-driver.js";
import { ALIVE, QUEUE, TIMEOUTS, toldOurs } from "../support/models/fair-queue.js";
import { until } from "../support/run/until.js";
import { watched } from "../support/run/watched.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { startRedis } from "../support/servers/redis-server.js";

const redis = locksOnRedis(startRedis);
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

describe("a server that stands still and handles in one burst what was sent meanwhile", () => {
  /** One more call that writes waits for the server. */
  async function postponed(count: number): Promise<void> {
    await until(async () => (await redis.plain.info("clients")).includes(`blocked_clients:${count}\r\n`));
  }

  test("has one holder, though a waiter is given the lock, finds it spent and hears of the grant last [own-1]", async () => {
    const holder = redis.holdfast();
    const lease = await holder.getFairLock("a").lock({ leaseMs: HOUR_MS });
    const client = redis.server.client();
    const driver = new ScriptedDriver(ioredisDriver(client));
    const hasty = new Holdfast(driver);
    const hastily = watched(hasty.getFairLock("a").lock({ leaseMs: 100 }));
    await queued(1);
    const other = watched(redis.holdfast().getFairLock("a").lock({ leaseMs: HOUR_MS }));
    await queued(2);
    const [field = ""] = await redis.plain.lrange(QUEUE, 0, 0);
    const messages: string[] = [];
    const listening = redis.server.client();
    listening.on("message", (_, message) => messages.push(message));
    const [channel, isToAsk] = toldOurs(field, 0);
    await listening.subscribe(channel);
    await redis.plain.call("CLIENT", "PAUSE", 300, "WRITE");
    const released = lease.unlock();
    await postponed(1);
    driver.channels.mute(true);
    driver.channels.hear(channel, isToAsk);
    await postponed(2);
    await released;
    await until(() => other.outcome !== undefined);
    // It waits once more, and only now looks at the message.
    await until(async () => (await redis.plain.llen(QUEUE)) === 1);
    driver.channels.mute(false);
    await until(() => messages.length === 1);
    await redis.plain.publish(channel, messages[0] ?? "");
    await hasty.inspect("a");
    expect(hastily.outcome).toBeUndefined();
    if (other.outcome === undefined || !("value" in other.outcome)) throw new Error("nobody has the lock");
    await other.outcome.value.unlock();
    await until(() => hastily.outcome !== undefined);
    await hasty.close({ releaseHeld: true });
    await Promise.all([client, listening].map(destroyClient));
    await noTrace();
  });
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
