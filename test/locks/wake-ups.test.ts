import { Redis } from "ioredis";
import { describe, expect, test } from "vitest";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { LeaseLostError, WrongTypeError } from "../../src/errors.js";
import { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import { fencingTokenKey } from "../../src/protocol/names.js";
import { destroyClient } from "../support/clients/ioredis-clients.js";
import { ScriptedDriver } from "../support/drivers/scripted-driver.js";
import { answerLate, rejectAtOnce } from "../support/faults/call-faults.js";
import { cut, delay, refuse } from "../support/faults/proxy-faults.js";
import { startProxy, type TcpProxy } from "../support/faults/tcp-proxy.js";
import { gate } from "../support/run/gate.js";
import { watchLeaks } from "../support/run/leaks.js";
import { until } from "../support/run/until.js";
import { watched } from "../support/run/watched.js";
import { backends, openedFor } from "../support/servers/backends.js";
import { type LocksOnRedis, locksOnRedis } from "../support/servers/locks-on-redis.js";
import { fakeTime } from "../support/worlds/fake-time.js";

/** So long that a waiter which had to help itself would outlast its test. */
const NEVER_MS = 10 * 60_000;

/**
 * For how many locks it was asked so far. The second question follows the subscription to the client's own channel, and the third that to the
 * lock's, as the holder does not look into the queue.
 */
function attempts(driver: ScriptedDriver): number {
  const asked = driver.calls.filter(({ call }) => call.script.name === "lock-acquire");
  return asked.reduce((sum, { call }) => sum + call.keys.filter((key) => !isQueue(key)).length, 0);
}

/** Of one that begins to wait. */
const ATTEMPTS_TO_WAIT = 3;

function isQueue(key: string): boolean {
  return key.startsWith("holdfast_waiting:");
}

async function getsIn(waiting: Promise<Lease>): Promise<void> {
  const lease = await waiting;
  expect(lease.state).toBe("held");
  await lease.unlock();
}

describe("on a real server", () => {
  const redis = locksOnRedis();
  const channel = "redisson_lock__channel:{a}";

  async function behindProxy(
    { server }: LocksOnRedis,
    body: (client: Holdfast, proxy: TcpProxy, driver: ScriptedDriver) => Promise<void>,
  ): Promise<void> {
    const proxy = await startProxy(server.port);
    const connection = new Redis({ host: "127.0.0.1", port: proxy.port, retryStrategy: () => 5 });
    connection.on("error", () => undefined);
    const driver = new ScriptedDriver(ioredisDriver(connection));
    const client = new Holdfast(driver, { safetyPeriodMs: NEVER_MS });
    try {
      await body(client, proxy, driver);
    } finally {
      await client.close();
      await destroyClient(connection);
      await proxy.close();
    }
  }

  async function nobodyListens(): Promise<void> {
    await until(async () => (await redis.plain.pubsub("CHANNELS")).length === 0);
  }

  test("lets a waiter in whose SUBSCRIBE was overtaken by the release [B6]", async () => {
    const held = await redis.holdfast().getLock("a").lock({ leaseMs: NEVER_MS });
    await behindProxy(redis, async (client, proxy) => {
      await client.getLock("other").using(() => undefined);
      proxy.inject(delay(200, { on: "\r\nsubscribe" }));
      const waiting = client.getLock("a").lock();
      await until(() => proxy.carrying("\r\nsubscribe").length === 1);
      expect(await redis.plain.pubsub("NUMSUB", channel)).toEqual([channel, 0]);
      await held.unlock();
      await (await waiting).unlock();
    });
  });

  test("lets a waiter in when the release came while its subscriber was cut off [B6]", async () => {
    const held = await redis.holdfast().getLock("a").lock({ leaseMs: NEVER_MS });
    await behindProxy(redis, async (client, proxy, driver) => {
      const waiting = client.getLock("a").lock();
      await until(() => attempts(driver) === ATTEMPTS_TO_WAIT);
      proxy.inject(refuse);
      await proxy.inject(cut({ on: "\r\nsubscribe" })).struck;
      await nobodyListens();
      await held.unlock();
      await proxy.heal();
      await getsIn(waiting);
    });
  });

  test("wakes all heads when their subscriber comes back [B6]", async () => {
    const holder = redis.holdfast();
    const names = ["a", "b", "c"];
    const held = await Promise.all(names.map((name) => holder.getLock(name).lock({ leaseMs: NEVER_MS })));
    await behindProxy(redis, async (client, proxy, driver) => {
      const waiting = names.map((name) => client.getLock(name).lock());
      await until(() => attempts(driver) === ATTEMPTS_TO_WAIT * names.length);
      proxy.inject(refuse);
      await proxy.inject(cut({ on: "\r\nsubscribe" })).struck;
      await nobodyListens();
      await Promise.all(held.map((lease) => lease.unlock()));
      await proxy.heal();
      await Promise.all(waiting.map(getsIn));
    });
  });

  test("listens to a thousand names on one connection, and wakes the waiter of each [wire-L20]", async () => {
    const names = Array.from({ length: 1_000 }, (_, i) => `many:${i}`);
    const [holder, client] = [redis.holdfast(), redis.holdfast({ safetyPeriodMs: NEVER_MS })];
    const held = await Promise.all(names.map((name) => holder.getLock(name).lock({ leaseMs: NEVER_MS })));
    const waiting = names.map((name) => client.getLock(name).using(() => name));
    // The channel of each lock, and that of the client beside it.
    await until(async () => (await redis.plain.pubsub("CHANNELS")).length === 2 * names.length);
    expect(
      String(await redis.plain.client("LIST", "TYPE", "PUBSUB"))
        .trim()
        .split("\n"),
    ).toHaveLength(1);
    await Promise.all(held.map((lease) => lease.unlock()));
    expect(await Promise.all(waiting)).toEqual(names);
    await client.close();
    await nobodyListens();
  });
});

for (const backend of backends) {
  describe(`on ${backend.name}`, () => {
    watchLeaks();
    const server = openedFor(backend);

    function scripted(): { readonly client: Holdfast; readonly driver: ScriptedDriver } {
      const drivers: ScriptedDriver[] = [];
      const client = server().client({ safetyPeriodMs: NEVER_MS }, (inner) => {
        const driver = new ScriptedDriver(inner);
        drivers.push(driver);
        return driver;
      });
      const [driver] = drivers;
      if (driver === undefined) throw new Error("a client has a driver");
      return { client, driver };
    }

    test("asks again when the subscription stands, for it may have come too late [B6]", async () => {
      const held = await server().client().getLock("a").lock({ leaseMs: NEVER_MS });
      const { client, driver } = scripted();
      const subscribe = driver.channels.hold();
      const waiting = client.getLock("a").lock();
      await until(() => driver.channels.asked.length === 1);
      await held.unlock();
      subscribe();
      await getsIn(waiting);
    });

    test("asks again when the subscriber has come back from a break [B6]", async () => {
      const held = await server().client().getLock("a").lock({ leaseMs: NEVER_MS });
      const { client, driver } = scripted();
      const waiting = client.getLock("a").lock();
      await until(() => attempts(driver) === ATTEMPTS_TO_WAIT);
      driver.channels.mute(true);
      await held.unlock();
      driver.channels.mute(false);
      driver.channels.reconnect();
      await getsIn(waiting);
    });

    test("passes the message on when the attempt that it caused is cancelled [wire-L9]", async () => {
      const held = await server().client().getLock("a").lock({ leaseMs: NEVER_MS });
      const { client, driver } = scripted();
      const leaving = new AbortController();
      const first = client.getLock("a").lock({ signal: leaving.signal });
      await until(() => attempts(driver) === ATTEMPTS_TO_WAIT);
      const second = client.getLock("a").lock();
      const late = answerLate();
      const met = driver.next(late, "lock-acquire");
      await held.unlock();
      await met;
      leaving.abort("gone");
      await expect(first).rejects.toBe("gone");
      late.arrive();
      await (await second).unlock();
    });

    test("passes the message on when the attempt that it caused gets lost and is cancelled [wire-L9]", async () => {
      const held = await server().client().getLock("a").lock({ leaseMs: NEVER_MS });
      const { client, driver } = scripted();
      const leaving = new AbortController();
      const first = client.getLock("a").lock({ signal: leaving.signal });
      await until(() => attempts(driver) === ATTEMPTS_TO_WAIT);
      const second = client.getLock("a").lock();
      const met = driver.next(rejectAtOnce, "lock-acquire");
      await held.unlock();
      await met;
      leaving.abort("gone");
      await expect(first).rejects.toBe("gone");
      await (await second).unlock();
    });

    test("lets a writer in whose channel a reader opened while the writer was being refused", async () => {
      const held = await server().client().getReadWriteLock("a").writeLock().lock({ leaseMs: NEVER_MS });
      const { client, driver } = scripted();
      const pair = client.getReadWriteLock("a");
      const refusal = answerLate();
      const met = driver.next(refusal, "write-acquire");
      const writes = pair.writeLock().lock();
      await met;
      const reads = pair.readLock().lock();
      await until(() => driver.names.filter((name) => name === "read-acquire").length === 2);
      await held.unlock();
      const read = await reads;
      // The writer does not listen yet: for him the reader's message is lost.
      driver.channels.mute(true);
      await read.unlock();
      refusal.arrive();
      await getsIn(writes);
    });
  });
}

describe("on a fake clock", () => {
  watchLeaks();
  const open = fakeTime();

  test("lets a writer in as soon as the lease of a sibling's read is over", async () => {
    const { holdfast, clock } = open({ safetyPeriodMs: NEVER_MS });
    const pair = holdfast.getReadWriteLock("a");
    const hangs = gate();
    const writes = watched(
      pair.writeLock().using(async () => {
        const read = pair.readLock().using({ leaseMs: 1_000 }, () => hangs.opened);
        const lost = expect(read).rejects.toThrow(LeaseLostError);
        await pair.writeLock().using(() => hangs.open());
        await lost;
      }),
    );
    await clock.advance(900);
    expect(writes.outcome).toBeUndefined();
    await clock.advance(200);
    expect(writes.outcome).toEqual({ value: undefined });
  });

  test("lets a waiter in behind one whose own mistake it is that he fails", async () => {
    const { holdfast, driver, clock, server, connect } = open({ safetyPeriodMs: NEVER_MS });
    const held = await connect().holdfast.getLock("a").lock({ leaseMs: NEVER_MS });
    server.command("HSET", fencingTokenKey("a"), "no", "counter");
    const refusal = answerLate();
    void driver.next(refusal, "lock-acquire");
    const head = watched(holdfast.getFencedLock("a").lock());
    const next = watched(holdfast.getLock("a").using(() => "in"));
    await clock.advance(10);
    refusal.arrive();
    await clock.advance(10);
    expect([head.outcome, next.outcome]).toEqual([{ error: expect.any(WrongTypeError) }, undefined]);
    await held.unlock();
    await clock.advance(10);
    expect(next.outcome).toEqual({ value: "in" });
    server.command("DEL", fencingTokenKey("a"));
  });
});
