import { afterEach, describe, expect, test } from "vitest";
import { destroyClient } from "../support/clients/ioredis-clients.js";
import { cut, cutBeforeForward, dropNextReply, halfOpen, refuse } from "../support/faults/proxy-faults.js";
import { gate } from "../support/run/gate.js";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { PERMITS_CHANNEL } from "../support/worlds/permits.js";

const redis = locksOnRedis();
const HOUR_MS = 3_600_000;
const unavailable = { code: "ERR_HOLDFAST_UNAVAILABLE", outcomeUnknown: true };

afterEach(() => redis.plain.del("s", "l"));

describe("a server that is full [R28]", () => {
  async function whileFull(body: () => Promise<void>): Promise<void> {
    await redis.plain.config("SET", "maxmemory", "1");
    try {
      await expect(redis.plain.set("anything", "1")).rejects.toThrow("OOM");
      await body();
    } finally {
      await redis.plain.config("SET", "maxmemory", "0");
    }
  }

  test("still takes permits back, and tells those who wait [R28]", async () => {
    const semaphore = redis.holdfast().getSemaphore("s");
    await semaphore.trySetPermits(2);
    const messages: string[] = [];
    const listener = redis.server.client();
    listener.on("message", (_, message) => messages.push(message));
    await listener.subscribe(PERMITS_CHANNEL);
    await semaphore.using(2, () =>
      whileFull(async () => {
        await semaphore.release();
        await semaphore.releaseIfExists();
      }),
    );
    await until(() => messages.length === 3);
    expect(messages).toEqual(["1", "2", "4"]);
    await destroyClient(listener);
    expect(await semaphore.availablePermits()).toBe(4);
  });

  test("still takes back what a body has used [R28]", async () => {
    const semaphore = redis.holdfast().getSemaphore("s");
    await semaphore.trySetPermits(2);
    const [inside, over] = [gate(), gate()];
    const call = semaphore.using(2, async () => {
      inside.open();
      await over.opened;
    });
    await inside.opened;
    await whileFull(async () => {
      over.open();
      await call;
    });
    expect(await redis.plain.get("s")).toBe("2");
  });

  test("gives no permits, says why at once, also to those who wait, and gives them when it has room [R28]", async () => {
    const semaphore = redis.holdfast().getSemaphore("s");
    await semaphore.trySetPermits(2);
    await whileFull(async () => {
      const refused = {
        ...unavailable,
        outcomeUnknown: false,
        message: expect.stringContaining("OOM"),
      };
      await expect(semaphore.tryAcquire()).rejects.toMatchObject(refused);
      await expect(semaphore.acquire(2)).rejects.toMatchObject(refused);
      await expect(semaphore.using(() => "never")).rejects.toMatchObject(refused);
      expect(await semaphore.tryAcquire(3)).toBe(false);
      expect(await semaphore.availablePermits()).toBe(2);
    });
    expect(await semaphore.using(2, () => semaphore.availablePermits())).toBe(0);
  });

  test("still takes back what a client with no call before has got by itself [R28]", async () => {
    await redis.plain.set("s", 1);
    const semaphore = redis.holdfast().getSemaphore("s");
    await whileFull(() => semaphore.release());
    expect(await redis.plain.get("s")).toBe("2");
  });

  test("still counts a latch down and deletes [R28]", async () => {
    const holdfast = redis.holdfast();
    const [semaphore, latch] = [holdfast.getSemaphore("s"), holdfast.getCountDownLatch("l")];
    await semaphore.trySetPermits(2);
    await latch.trySetCount(2);
    await whileFull(async () => {
      await latch.countDown();
      expect(await latch.getCount()).toBe(1);
      await latch.countDown();
      expect(await latch.await()).toBe(true);
      expect(await semaphore.delete()).toBe(true);
    });
  });
});

describe("a server that forgets its scripts", () => {
  test("is told them again in the middle of work", async () => {
    const holdfast = redis.holdfast();
    const [semaphore, latch] = [holdfast.getSemaphore("s"), holdfast.getCountDownLatch("l")];
    const calls = [
      () => semaphore.trySetPermits(2),
      () => semaphore.acquire(),
      () => semaphore.release(),
      () => semaphore.availablePermits(),
      () => semaphore.drainPermits(),
      () => semaphore.delete(),
      () => latch.trySetCount(1),
      () => latch.countDown(),
    ];
    for (let round = 0; round < 2; round++) {
      for (const call of calls) {
        await call();
        await redis.plain.script("FLUSH");
      }
    }
    expect(await redis.plain.exists("s", "l")).toBe(0);
  });
});

describe("a connection that breaks", () => {
  const commandTimeoutMs = 1_000;

  test.each([
    ["the reply is lost", (on: string) => dropNextReply({ on })],
    ["the request is lost", (on: string) => cutBeforeForward({ on })],
  ])("has each call done once, and nobody notices, when %s [R9]", async (_, fault) => {
    const proxy = await redis.proxy();
    const holdfast = redis.holdfast({ commandTimeoutMs }, { port: proxy.port });
    const [semaphore, latch] = [holdfast.getSemaphore("s"), holdfast.getCountDownLatch("l")];
    await semaphore.availablePermits();
    const steps: readonly (readonly [call: () => Promise<unknown>, permits: string | null])[] = [
      [() => semaphore.trySetPermits(10), "10"],
      [() => semaphore.acquire(3), "7"],
      [() => semaphore.release(), "8"],
      [() => semaphore.addPermits(5), "13"],
      [() => semaphore.drainPermits(), "0"],
      [() => semaphore.releaseIfExists(4), "4"],
      [() => semaphore.tryAcquire(4), "0"],
      [() => semaphore.delete(), null],
    ];
    for (const [call, permits] of steps) {
      const { struck } = proxy.inject(fault("holdfast_req:{s}"));
      await Promise.all([call(), struck]);
      expect(await redis.plain.get("s")).toBe(permits);
    }
    await latch.trySetCount(5);
    const { struck } = proxy.inject(fault("holdfast_req:{l}"));
    await Promise.all([latch.countDown(), struck]);
    expect(await redis.plain.get("l")).toBe("4");
  });

  test("does not cost a waiter its permits, nor anybody else's, when it comes back", async () => {
    const proxy = await redis.proxy();
    const semaphore = redis.holdfast({ safetyPeriodMs: HOUR_MS }, { port: proxy.port }).getSemaphore("s");
    const latch = redis.holdfast({ safetyPeriodMs: HOUR_MS }, { port: proxy.port }).getCountDownLatch("l");
    const near = redis.holdfast();
    await near.getSemaphore("s").trySetPermits(0);
    await near.getCountDownLatch("l").trySetCount(1);
    const waiting = [semaphore.acquire(), semaphore.acquire(2), latch.await()];
    await until(async () => (await redis.plain.pubsub("CHANNELS")).length === 2);
    proxy.inject(refuse);
    await proxy.inject(cut({ on: "\r\nsubscribe" })).struck;
    await until(async () => (await redis.plain.pubsub("CHANNELS")).length === 0);
    await near.getSemaphore("s").release(3);
    await near.getCountDownLatch("l").countDown();
    await proxy.heal();
    await Promise.all(waiting);
    expect(await redis.plain.get("s")).toBe("0");
  });

  test("and stays silent ends every call within the command timeout, and nothing is lost when it is back [R31]", async () => {
    const proxy = await redis.proxy();
    const holdfast = redis.holdfast({ commandTimeoutMs: 400 }, { port: proxy.port });
    const [semaphore, latch] = [holdfast.getSemaphore("s"), holdfast.getCountDownLatch("l")];
    await semaphore.trySetPermits(10);
    proxy.inject(halfOpen());
    const calls = [
      semaphore.acquire(),
      semaphore.tryAcquire(2),
      semaphore.tryAcquire(3, { waitMs: HOUR_MS }),
      semaphore.using(() => "never"),
      semaphore.availablePermits(),
      latch.getCount(),
      latch.await(),
    ];
    // `using` stands behind `acquire` in the line for one permit, and has sent nothing.
    const behind = { ...unavailable, outcomeUnknown: false };
    for (const [at, outcome] of (await Promise.allSettled(calls)).entries()) {
      expect(outcome).toMatchObject({ status: "rejected", reason: at === 3 ? behind : unavailable });
    }
    await proxy.heal();
    await semaphore.using(() => undefined);
    await until(async () => (await redis.plain.get("s")) === "10");
  });
});
