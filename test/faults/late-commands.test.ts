import { beforeEach, describe, expect, test } from "vitest";
import { holdNextRequest } from "../support/faults/late-requests.js";
import { dropNextReply, halfOpen, refuse } from "../support/faults/proxy-faults.js";
import type { TcpProxy } from "../support/faults/tcp-proxy.js";
import { until } from "../support/run/until.js";
import { commandCounts } from "../support/servers/command-counts.js";
import type { Connected } from "../support/servers/locks-on-redis.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { startRedis } from "../support/servers/redis-server.js";
import type { ScriptArrivals } from "../support/servers/script-arrivals.js";
import type { ClientOptions } from "../support/servers/server-clients.js";

const redis = locksOnRedis(startRedis);
const KEY = "order:7";
const HOUR_MS = 3_600_000;

let proxy: TcpProxy;
let arrivals: ScriptArrivals;
beforeEach(async () => {
  proxy = await redis.proxy();
  arrivals = await redis.arrivals();
});

/** A client that knows the server already. */
async function behindProxy(commandTimeoutMs: number, connection: ClientOptions = {}): Promise<Connected> {
  const connected = redis.connect({ commandTimeoutMs }, { port: proxy.port, ...connection });
  await connected.redis.ping();
  await connected.holdfast.getLock(KEY).isLocked();
  return connected;
}

/** Holds up the next command about the lock on its way; whatever is sent over a new connection overtakes it. */
async function heldUp(client: Connected, send: () => void): Promise<void> {
  const { struck } = proxy.inject(holdNextRequest({ on: KEY }));
  send();
  await struck;
  client.redis.stream.destroy();
}

/** Lets what was held up arrive. Resolves when the server has met it. */
async function lateArrival(script: Parameters<ScriptArrivals["of"]>[0]): Promise<void> {
  const before = arrivals.of(script);
  await proxy.heal();
  await until(() => arrivals.of(script) > before);
}

/** Fails as long as another could have the lock. */
async function expectHeldBy(holder: string): Promise<void> {
  expect(await redis.plain.hgetall(KEY)).toEqual({ [holder]: "1" });
  expect(await redis.holdfast().getLock(KEY).tryLock()).toBeNull();
}

describe("a release that arrives late", () => {
  test("after its repeat and the next stay of the same thread touches nothing [R1]", async () => {
    const client = await behindProxy(3_000);
    const lock = client.holdfast.getLock(KEY);
    await client.holdfast.asThread(async () => {
      const first = await lock.lock();
      let unlocking = Promise.resolve();
      await heldUp(client, () => {
        unlocking = lock.unlock();
      });
      await unlocking;
      expect(await redis.plain.exists(KEY)).toBe(0);
      const second = await lock.lock();
      expect(second.holder).not.toBe(first.holder);
      await lateArrival("lock-release");
      await expectHeldBy(second.holder);
      await lock.unlock();
    });
  });

  test("after its repeat finds a stay under an explicit id only when it is too late for it [R1]", async () => {
    const client = await behindProxy(600);
    const lock = client.holdfast.getLock(KEY);
    const first = await lock.lock({ threadId: 7 });
    let unlocking = Promise.resolve();
    const sentMs = performance.now();
    await heldUp(client, () => {
      unlocking = first.unlock();
    });
    await unlocking;
    const second = await lock.lock({ threadId: 7, leaseMs: HOUR_MS });
    expect(second.holder).toBe(first.holder);
    expect(performance.now() - sentMs).toBeGreaterThanOrEqual(599);
    await lateArrival("lock-release");
    await expectHeldBy(second.holder);
    await second.unlock();
  });

  test("finds the next holder, another client, and leaves it alone [B36]", async () => {
    const client = await behindProxy(3_000);
    const lease = await client.holdfast.getLock(KEY).lock();
    let unlocking = Promise.resolve();
    await heldUp(client, () => {
      unlocking = lease.unlock();
    });
    await unlocking;
    const next = await redis.holdfast().getLock(KEY).lock();
    await lateArrival("lock-release");
    await expectHeldBy(next.holder);
    await next.unlock();
  });
});

describe("an acquisition that arrives late", () => {
  test("after its caller was told that it failed, and after the clean-up, takes nothing [R2]", async () => {
    const client = await behindProxy(300);
    const { struck } = proxy.inject(holdNextRequest({ on: KEY }));
    const failed = expect(client.holdfast.getLock(KEY).lock()).rejects.toMatchObject({
      code: "ERR_HOLDFAST_UNAVAILABLE",
      outcomeUnknown: true,
    });
    await struck;
    // Nobody comes through until the caller has given up; then only the copy that was held up is still on its way.
    await proxy.inject(refuse).struck;
    client.redis.stream.destroy();
    await failed;
    await proxy.listen();
    await client.holdfast.close();
    await client.redis.ping();
    expect(arrivals.of("lock-release")).toBeGreaterThan(0);
    await lateArrival("lock-acquire");
    expect(await redis.plain.exists(KEY)).toBe(0);
  });

  test("after its repeat, which holds the lock by now, changes nothing", async () => {
    const client = await behindProxy(3_000);
    let locking: Promise<{ readonly holder: string; unlock(): Promise<void> }> | undefined;
    await heldUp(client, () => {
      locking = client.holdfast.getLock(KEY).lock({ leaseMs: HOUR_MS });
    });
    const lease = await locking;
    await lateArrival("lock-acquire");
    await expectHeldBy(lease?.holder ?? "");
    await lease?.unlock();
  });

  test("after its repeat was released again leaves no hold for longer than a command may take [R2]", async () => {
    const client = await behindProxy(2_000);
    let locking: Promise<{ unlock(): Promise<void> }> | undefined;
    await heldUp(client, () => {
      locking = client.holdfast.getLock(KEY).lock({ leaseMs: HOUR_MS });
    });
    await (await locking)?.unlock();
    expect(await redis.plain.exists(KEY)).toBe(0);
    await lateArrival("lock-acquire");
    await client.holdfast.close();
    expect(await redis.plain.exists(KEY)).toBe(0);
  });

  test("from a client that resends what its own timeout has given up takes nothing [R2]", async () => {
    const client = await behindProxy(400, { commandTimeout: 100, maxRetriesPerRequest: null });
    proxy.inject(halfOpen());
    await expect(client.holdfast.getLock(KEY).lock()).rejects.toMatchObject({
      code: "ERR_HOLDFAST_UNAVAILABLE",
    });
    const before = arrivals.of("lock-acquire");
    client.redis.stream.destroy();
    await proxy.heal();
    await until(() => arrivals.of("lock-acquire") > before);
    await client.holdfast.close();
    expect(await redis.plain.exists(KEY)).toBe(0);
  });
});

describe("a server that is down at the attempt", () => {
  test("gets the queued command when it is back, and keeps no key of it [R2]", async () => {
    const { redis: connection, holdfast } = redis.connect(
      { commandTimeoutMs: 300 },
      { maxRetriesPerRequest: null },
    );
    await holdfast.getLock(KEY).isLocked();
    await redis.server.kill();
    await expect(holdfast.getLock(KEY).lock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_UNAVAILABLE" });
    await redis.server.restart();
    // What was queued before this PING has been delivered by now.
    await connection.ping();
    await holdfast.close();
    // Every script reads the clock; one that comes too late does nothing else.
    const { time = 0, type = 0, hset = 0 } = await commandCounts(redis.plain);
    expect(time).toBeGreaterThan(type);
    expect(hset).toBe(0);
    expect(await redis.plain.exists(KEY)).toBe(0);
  });

  test("gets the queued command of a wait that was cancelled, and keeps no key of it [R2] [B37]", async () => {
    const { redis: connection, holdfast } = redis.connect(
      { commandTimeoutMs: 10_000 },
      { maxRetriesPerRequest: null },
    );
    await holdfast.getLock(KEY).isLocked();
    await redis.server.kill();
    await until(() => connection.status !== "ready");
    const cancel = new AbortController();
    const call = holdfast.getLock(KEY).lock({ signal: cancel.signal, leaseMs: HOUR_MS });
    cancel.abort(new Error("changed my mind"));
    await expect(call).rejects.toThrow("changed my mind");
    await redis.server.restart();
    await connection.ping();
    await holdfast.close();
    expect(await commandCounts(redis.plain)).toMatchObject({ hset: 1, hdel: 1 });
    expect(await redis.plain.exists(KEY)).toBe(0);
  });
});

describe("a forced unlock that is repeated", () => {
  test("does not hit the next holder when its reply was lost [R9]", async () => {
    const { holdfast } = await behindProxy(3_000);
    await redis.holdfast().getLock(KEY).lock({ leaseMs: HOUR_MS });
    const { struck } = proxy.inject(dropNextReply({ on: "redisson_lock__channel" }));
    const forced = holdfast.getLock(KEY).forceUnlock();
    await struck;
    await proxy.inject(refuse).struck;
    const next = await redis.holdfast().getLock(KEY).lock({ leaseMs: HOUR_MS });
    await proxy.heal();
    expect(await forced).toBe(true);
    // What MONITOR shows comes on another connection, and so maybe later than the answer.
    await until(() => arrivals.of("lock-force-unlock") === 2);
    await expectHeldBy(next.holder);
    await next.unlock();
  });

  test("does not hit the next holder when its first copy arrives last [R9]", async () => {
    const client = await behindProxy(3_000);
    await redis.holdfast().getLock(KEY).lock({ leaseMs: HOUR_MS });
    const { struck } = proxy.inject(holdNextRequest({ on: "redisson_lock__channel" }));
    const forced = client.holdfast.getLock(KEY).forceUnlock();
    await struck;
    client.redis.stream.destroy();
    expect(await forced).toBe(true);
    const next = await redis.holdfast().getLock(KEY).lock({ leaseMs: HOUR_MS });
    await lateArrival("lock-force-unlock");
    await expectHeldBy(next.holder);
    await next.unlock();
  });
});
