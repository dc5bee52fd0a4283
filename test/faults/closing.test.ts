import { describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/holdfast.js";
import { halfOpen } from "../support/faults/proxy-faults.js";
import { gate } from "../support/run/gate.js";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { startRedis } from "../support/servers/redis-server.js";

const redis = locksOnRedis(startRedis);
const HOUR_MS = 3_600_000;
const commandTimeoutMs = 300;
const closed = { code: "ERR_HOLDFAST_CLOSED" };

/** A client with everything under way that closing has to end. */
async function busy(port: number) {
  const holdfast = redis.holdfast({ commandTimeoutMs, safetyPeriodMs: HOUR_MS }, { port });
  await redis.plain.hset("waited-for", "somebody", "1");
  const held = await holdfast.getLock("held").lock();
  const fixed = await holdfast.getLock("fixed").lock({ leaseMs: HOUR_MS });
  const { signal } = held;
  const waits = Promise.allSettled([
    holdfast.getLock("waited-for").lock(),
    holdfast.getLock("waited-for").lock(),
    holdfast.getLock("held").tryLock({ waitMs: HOUR_MS }),
  ]);
  let inBody = false;
  const body = holdfast.getLock("used").using(async ({ signal: lost }) => {
    inBody = true;
    await until(() => lost.aborted);
  });
  const work = Promise.allSettled([body]);
  // Two of its own, and that of the lock that another has.
  await until(async () => inBody && (await redis.plain.pubsub("CHANNELS")).length === 3);
  return { holdfast, held, fixed, signal, waits, work };
}

async function expectAllEnded({
  holdfast,
  held,
  fixed,
  signal,
  waits,
  work,
}: Awaited<ReturnType<typeof busy>>) {
  for (const wait of await waits) expect(wait).toMatchObject({ status: "rejected", reason: closed });
  const loss = { code: "ERR_HOLDFAST_LEASE_LOST", reason: "closed" };
  expect(await work).toMatchObject([{ status: "rejected", reason: loss }]);
  expect([held.state, fixed.state, signal.aborted]).toEqual(["lost", "lost", true]);
  expect(signal.reason).toMatchObject(loss);
  await expect(holdfast.getLock("held").lock()).rejects.toMatchObject(closed);
}

/** Once for the work, once for the driver, once for a release; and ten times that for the sake of busy machines. */
const BOUND_MS = 10 * 3 * commandTimeoutMs;

async function expectItCloses(holdfast: Holdfast, options: object = {}): Promise<void> {
  const startMs = performance.now();
  await Promise.all([holdfast.close(options), holdfast.close(), holdfast[Symbol.asyncDispose]()]);
  await holdfast.close({ releaseHeld: true });
  expect(performance.now() - startMs).toBeLessThan(BOUND_MS);
}

/** With the place of a client that could not tell the server that it waits no more. */
const keys = ["held", "fixed", "used", "waited-for", "holdfast_waiting:{waited-for}"] as const;

describe("closing with holders, waiters and bodies under way", () => {
  test("ends them all, leaves the keys to their TTLs and closes no connection but its own [B40]", async () => {
    const client = await busy(redis.server.port);
    await expectItCloses(client.holdfast);
    await expectAllEnded(client);
    // What is still in use when its lease ends is free as soon as its body has noticed.
    expect(await redis.plain.exists("held", "fixed", "waited-for")).toBe(3);
    expect(await redis.plain.pubsub("CHANNELS")).toEqual([]);
    await redis.plain.del(...keys);
  });

  test("releases what it holds if asked to, and tells those who wait [B40]", async () => {
    const client = await busy(redis.server.port);
    const rival = redis.holdfast({ safetyPeriodMs: HOUR_MS }).getLock("fixed").lock();
    await until(async () => (await redis.plain.pubsub("CHANNELS")).length === 3 + 2);
    await expectItCloses(client.holdfast, { releaseHeld: true });
    await expectAllEnded(client);
    await (await rival).unlock();
    expect(await redis.plain.keys("*")).toEqual(["waited-for"]);
    await redis.plain.del("waited-for");
  });

  test.each([{}, { releaseHeld: true }, { graceMs: 100 }])(
    "is bounded when the server is killed: %j [B40]",
    async (options) => {
      const client = await busy(redis.server.port);
      await redis.server.kill();
      await expectItCloses(client.holdfast, options);
      await expectAllEnded(client);
      await redis.server.restart();
    },
  );

  test.each([{}, { releaseHeld: true }, { graceMs: 100 }])(
    "is bounded when the server stands still: %j [B40]",
    async (options) => {
      const client = await busy(redis.server.port);
      await redis.server.pause();
      await expectItCloses(client.holdfast, options);
      redis.server.resume();
      await expectAllEnded(client);
      await redis.plain.del(...keys);
    },
  );

  test.each([{}, { releaseHeld: true }])("is bounded when the network is gone: %j [B40]", async (options) => {
    const proxy = await redis.proxy();
    const client = await busy(proxy.port);
    proxy.inject(halfOpen());
    await expectItCloses(client.holdfast, options);
    await expectAllEnded(client);
    await proxy.heal();
    await client.holdfast.close();
    await redis.plain.ping();
    await redis.plain.del(...keys);
  });

  test("is bounded before the server was ever reached [B40]", async () => {
    await redis.server.kill();
    const holdfast = redis.holdfast({ commandTimeoutMs });
    const calls = Promise.allSettled([holdfast.getLock("held").lock(), holdfast.getLock("held").isLocked()]);
    await expectItCloses(holdfast);
    for (const call of await calls) expect(call).toMatchObject({ status: "rejected" });
    await redis.server.restart();
  });

  test("lets bodies end by themselves within their grace [B40]", async () => {
    const holdfast = redis.holdfast();
    const [begun, mayEnd] = [gate(), gate()];
    const body = holdfast.getLock("used").using(async (lease) => {
      begun.open();
      await mayEnd.opened;
      return lease.state;
    });
    await begun.opened;
    const closing = holdfast.close({ graceMs: 10_000 });
    await expect(holdfast.getLock("another").lock()).rejects.toMatchObject(closed);
    mayEnd.open();
    expect(await body).toBe("held");
    await closing;
    expect(await redis.plain.exists("used")).toBe(0);
  });
});
