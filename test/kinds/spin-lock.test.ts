import { describe, expect, test } from "vitest";
import type { Backoff } from "../../src/backoff-options.js";
import { delays } from "../../src/locks/backoff.js";
import { watched } from "../support/run/watched.js";
import { backends, openedFor } from "../support/servers/backends.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import { fakeTime } from "../support/worlds/fake-time.js";

const NAME = "order:7";
const MINUTE_MS = 60_000;
const JVM = "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:57";

function first(count: number, backoff: Backoff, random: () => number): readonly number[] {
  const next = delays(backoff, random);
  return Array.from({ length: count }, next);
}

describe("a back-off", () => {
  test("that is exponential grows by its multiplier and a part that grows with the failures, up to the longest", () => {
    const backoff = { type: "exponential", initialDelayMs: 10, maxDelayMs: 100, multiplier: 3 } as const;
    expect(first(5, backoff, () => 0)).toEqual([10, 30, 90, 100, 100]);
    expect(first(5, backoff, () => 0.999)).toEqual([10, 30, 91, 100, 100]);
    expect(first(9, { type: "exponential" }, () => 0)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 128]);
  });

  test("that is constant stays", () => {
    expect(first(3, { type: "constant" }, () => 0.5)).toEqual([64, 64, 64]);
    expect(first(3, { type: "constant", delayMs: 7 }, () => 0.5)).toEqual([7, 7, 7]);
  });
});

describe("a spin lock", () => {
  const open = fakeTime();
  const redis = locksOnRedis();

  test("asks again after each pause of its back-off, for as long as it waits", async () => {
    const time = open();
    time.server.command("HSET", NAME, JVM, "1");
    const lock = time.holdfast.getSpinLock(NAME, { backoff: { type: "constant", delayMs: 10 } });
    const call = lock.lock({ waitMs: 35 });
    const refused = expect(call).rejects.toMatchObject({ code: "ERR_HOLDFAST_WAIT_TIMEOUT" });
    await time.clock.advance(100);
    await refused;
    expect(time.driver.timesOf("lock-acquire")).toEqual([0, 10, 20, 30]);
    time.server.command("DEL", NAME);
  });

  test("gets its turn beside calls of another client that hand the lock on and on", async () => {
    const { clock, connect, holdfast } = open();
    const plain = connect().holdfast.getLock(NAME);
    const work = () => new Promise<void>((resolve) => void clock.schedule(2, resolve));
    let isOver = false;
    const visits = Array.from({ length: 8 }, async () => {
      while (!isOver) await plain.using(work);
    });
    await clock.advance(10);
    let turns = 0;
    const lock = holdfast.getSpinLock(NAME);
    const spinning = (async () => {
      while (!isOver) {
        await lock.using(work);
        turns += 1;
      }
    })();
    await clock.advance(3_000);
    expect(turns).toBeGreaterThan(1);
    isOver = true;
    const ended = watched(Promise.all([...visits, spinning]));
    await clock.advance(1_000);
    expect(ended.outcome).toHaveProperty("value");
  });

  test("asks once for all who wait in one client", async () => {
    const time = open();
    const holder = await time.connect().holdfast.getLock(NAME).lock({ leaseMs: MINUTE_MS });
    const lock = time.holdfast.getSpinLock(NAME, { backoff: { type: "constant", delayMs: 10 } });
    const calls = Array.from({ length: 20 }, () => lock.using({ leaseMs: MINUTE_MS }, () => undefined));
    await time.clock.advance(100);
    expect(time.driver.timesOf("lock-acquire")).toHaveLength(11);
    const unlocked = holder.unlock();
    await time.clock.advance(500);
    await unlocked;
    await Promise.all(calls);
  });

  test("asks by its back-off also behind a call for the plain lock of its name that has given up", async () => {
    const time = open();
    time.server.command("HSET", NAME, JVM, "1");
    const plain = watched(time.holdfast.getLock(NAME).tryLock({ waitMs: 500 }));
    await time.clock.advance(0);
    const lock = time.holdfast.getSpinLock(NAME, { backoff: { type: "constant", delayMs: 10 } });
    const spinning = watched(lock.tryLock({ waitMs: MINUTE_MS, leaseMs: MINUTE_MS }));
    await time.clock.advance(600);
    expect(plain.outcome).toEqual({ value: null });
    // Nobody tells.
    time.server.command("DEL", NAME);
    await time.clock.advance(10);
    expect(spinning.outcome).toMatchObject({ value: { name: NAME } });
    time.server.flush();
  });

  test("opens no connection for messages while it waits", async () => {
    const lease = await redis.holdfast().getLock(NAME).lock();
    const waiting = redis.holdfast().getSpinLock(NAME);
    await expect(waiting.lock({ waitMs: 100 })).rejects.toMatchObject({ code: "ERR_HOLDFAST_WAIT_TIMEOUT" });
    expect(await redis.plain.pubsub("CHANNELS")).toEqual([]);
    expect(await redis.plain.call("CLIENT", "LIST", "TYPE", "pubsub")).toBe("");
    await lease.unlock();
  });

  test.each([
    [{ type: "linear" }, TypeError, "backoff.type"],
    [{ type: "constant", delayMs: 0 }, RangeError, "backoff.delayMs"],
    [{ type: "exponential", maxDelayMs: 5, initialDelayMs: 10 }, RangeError, "backoff.maxDelayMs"],
    [{ type: "exponential", multiplier: 0.5 }, RangeError, "backoff.multiplier"],
    [{ type: "exponential", multiplier: "2" }, TypeError, "backoff.multiplier"],
  ])("refuses the back-off %j", (backoff, error, option) => {
    const time = open();
    const make = () => time.holdfast.getSpinLock(NAME, { backoff: backoff as Backoff });
    expect(make).toThrow(error);
    expect(make).toThrow(option);
  });
});

describe.each(backends)("a spin lock on $name", (backend) => {
  const server = openedFor(backend);

  test("wakes those who wait for the plain lock of its name, long before its lease is over [wire-L23]", async () => {
    const spin = await server()
      .client()
      .getSpinLock(NAME)
      .lock({ leaseMs: 10 * MINUTE_MS });
    const messages = await server().listen(`redisson_lock__channel:{${NAME}}`);
    const waiting = server()
      .client({ safetyPeriodMs: 10 * MINUTE_MS })
      .getLock(NAME)
      .lock();
    await spin.unlock();
    await (await waiting).unlock();
    expect(messages[0]).toBe("0");
  });

  test("excludes and is excluded by plain locks of its name", async () => {
    const client = server().client();
    const plain = await client.getLock(NAME).lock();
    expect(await client.getSpinLock(NAME).tryLock()).toBeNull();
    const spinning = server().client().getSpinLock(NAME).lock();
    await plain.unlock();
    const spin = await spinning;
    expect(await client.getLock(NAME).tryLock()).toBeNull();
    await spin.unlock();
  });

  test("stops asking at once when its wait is cancelled", async () => {
    const lease = await server().client().getLock(NAME).lock();
    const cancel = new AbortController();
    const waiting = server()
      .client()
      .getSpinLock(NAME, { backoff: { type: "constant", delayMs: MINUTE_MS } })
      .lock({ signal: cancel.signal });
    cancel.abort(new Error("not any more"));
    await expect(waiting).rejects.toThrow("not any more");
    await lease.unlock();
  });
});
