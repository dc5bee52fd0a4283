import { describe, expect, test } from "vitest";
import { LeaseLostError, NotHeldError, ReentryError, WaitTimeoutError } from "../../src/errors.js";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lock } from "../../src/locks/lock.js";
import { ALIVE, QUEUE, queueOf, TIMEOUTS } from "../support/models/fair-queue.js";
import { watchLeaks } from "../support/run/leaks.js";
import { until } from "../support/run/until.js";
import { backends, openedFor } from "../support/servers/backends.js";

watchLeaks();
const HOUR_MS = 60 * 60 * 1_000;

describe.each(backends)("a fair lock on $name", (backend) => {
  const server = openedFor(backend);
  const raw = (command: string, ...args: readonly (string | number)[]) => server().raw(command, ...args);
  const clients = (count: number): Holdfast[] => Array.from({ length: count }, () => server().client());

  async function queued(count: number): Promise<readonly string[]> {
    await until(async () => (await queueOf(raw)).length === count);
    return queueOf(raw);
  }

  test("is a hash of its holder, as any lock, when nobody waits", async () => {
    const lock = server().client().getFairLock("a");
    const lease = await lock.lock({ leaseMs: HOUR_MS });
    expect(await server().fields("a")).toEqual({ [lease.holder]: "1" });
    expect(await server().keys()).toEqual(["a"]);
    await lease.unlock();
    expect(await server().keys()).toEqual([]);
  });

  test("keeps its waiters where Redisson does, under the mapped name [RedissonFairLockTest 12]", async () => {
    const options = { nameMapper: (name: string) => name.replace("app:", "") };
    const lock = server().client(options).getFairLock("app:a");
    const lease = await lock.lock();
    const waiting = lock.using(() => undefined);
    const [waiter = ""] = await queued(1);
    expect(await raw("ZRANGE", TIMEOUTS, 0, -1)).toEqual([waiter]);
    expect(await raw("ZRANGE", ALIVE, 0, -1)).toEqual([waiter]);
    expect([...(await server().keys())].sort()).toEqual([ALIVE, "a", QUEUE, TIMEOUTS].sort());
    await lease.unlock();
    await waiting;
  });

  test("lets tasks of several clients in by the order in which they came [R21] [RedissonFairLockTest 11]", async () => {
    const all = clients(4);
    const lease = await server().client().getFairLock("a").lock();
    const entered: number[] = [];
    const waiting: Promise<unknown>[] = [];
    for (let i = 0; i < 32; i++) {
      const lock = all[i % 4]?.getFairLock("a");
      waiting.push(lock?.using(() => entered.push(i)) ?? Promise.reject(new Error("no such client")));
      await queued(i + 1);
    }
    await lease.unlock();
    await Promise.all(waiting);
    expect(entered).toEqual(Array.from({ length: 32 }, (_, i) => i));
  });

  test("serves waiters in their order whose predecessors never release [RedissonFairLockTest 1]", async () => {
    const all = clients(4);
    const entered: number[] = [];
    const lease = await server().client().getFairLock("a").lock({ leaseMs: 60_000 });
    const waiting: Promise<unknown>[] = [];
    for (let i = 0; i < 4; i++) {
      const lock = all[i]?.getFairLock("a");
      waiting.push(lock?.lock({ leaseMs: 1_000 }).then(() => entered.push(i)) ?? Promise.resolve());
      await queued(i + 1);
    }
    // All stand in the queue before the first of them can be in.
    await lease.extend(1_000);
    await Promise.all(waiting);
    expect(entered).toEqual([0, 1, 2, 3]);
    await until(async () => (await server().keys()).length === 0);
    await expect(lease.unlock()).rejects.toThrow(NotHeldError);
  });

  test("is taken 100 times by tasks of four clients, one after the other [RedissonFairLockTest 2]", async () => {
    const all = clients(4);
    let inside = 0;
    const visit = async (client: Holdfast | undefined) =>
      client?.getFairLock("a").using({ waitMs: 60_000 }, async () => {
        inside += 1;
        await new Promise(setImmediate);
        const together = inside;
        inside -= 1;
        return together;
      });
    const seen = await Promise.all(Array.from({ length: 100 }, (_, i) => visit(all[i % 4])));
    expect(seen).toEqual(seen.map(() => 1));
  });

  test("lets its holder enter again while others wait, and keeps them in order", async () => {
    const [own, other] = clients(2).map((client) => client.getFairLock("a"));
    const entered: string[] = [];
    let waiting: Promise<unknown> | undefined;
    await own?.using(async (outer) => {
      waiting = other?.using(() => entered.push("other"));
      await queued(1);
      await own.using(async (inner) => {
        entered.push("again");
        expect(inner.holdCount).toBe(2);
        expect(await server().fields("a")).toEqual({ [outer.holder]: "2" });
      });
      expect(await server().fields("a")).toEqual({ [outer.holder]: "1" });
      expect(await queueOf(raw)).toHaveLength(1);
    });
    await waiting;
    expect(entered).toEqual(["again", "other"]);
  });

  test("is not overtaken by tryLock, which never stands in the queue [RedissonFairLockTest 5, 8]", async () => {
    const [holder, waiter, hasty] = clients(3).map((client) => client.getFairLock("a"));
    const lease = await holder?.tryLock();
    const refused = await hasty?.tryLock();
    expect(refused).toBeNull();
    expect(await server().keys()).toEqual(["a"]);
    const waiting = waiter?.lock();
    const [next = ""] = await queued(1);
    // The lock is free for a moment that only its own queue knows of.
    await raw("DEL", "a");
    expect(await hasty?.tryLock()).toBeNull();
    expect((await waiting)?.holder).toBe(next);
    await (await waiting)?.unlock();
    await expect(lease?.unlock()).rejects.toThrow(NotHeldError);
    await (await hasty?.tryLock())?.unlock();
  });

  test("forgets a waiter whose time is up, and one who is cancelled [wire-L3] [RedissonFairLockTest 8, 9]", async () => {
    const [holder, waiter] = clients(2).map((client) => client.getFairLock("a"));
    const lease = await holder?.lock();
    expect(await waiter?.tryLock({ waitMs: 50 })).toBeNull();
    await expect(waiter?.lock({ waitMs: 50 })).rejects.toThrow(WaitTimeoutError);
    const leaving = new AbortController();
    const cancelled = waiter?.lock({ signal: leaving.signal });
    await queued(1);
    leaving.abort(new Error("changed my mind"));
    await expect(cancelled).rejects.toThrow("changed my mind");
    await until(async () => (await server().keys()).length === 1);
    expect(await server().keys()).toEqual(["a"]);
    await lease?.unlock();
    await (await waiter?.tryLock())?.unlock();
  });

  test("goes to the next by forceUnlock, and the old holder learns of it", async () => {
    const [holder, waiter, judge] = clients(3).map((client) => client.getFairLock("a"));
    const lease = await holder?.lock();
    const waiting = waiter?.lock();
    const [next = ""] = await queued(1);
    expect(await judge?.forceUnlock()).toBe(true);
    const given = await waiting;
    expect(given?.holder).toBe(next);
    expect(await server().fields("a")).toEqual({ [next]: "1" });
    await expect(lease?.unlock()).rejects.toThrow(NotHeldError);
    expect(lease?.signal.reason).toBeInstanceOf(LeaseLostError);
    await given?.unlock();
    expect(await judge?.forceUnlock()).toBe(false);
  });

  test("tells a late release that it holds nothing, also when nobody has the lock [wire-L8]", async () => {
    const lock: Lock = server().client().getFairLock("a");
    const lease = await lock.lock({ leaseMs: HOUR_MS });
    await raw("DEL", "a");
    await expect(lease.unlock()).rejects.toThrow(NotHeldError);
    const second = await lock.lock({ leaseMs: HOUR_MS });
    await raw("DEL", "a");
    const third = await server().client().getFairLock("a").lock();
    await expect(second.unlock()).rejects.toThrow(NotHeldError);
    expect(await server().fields("a")).toEqual({ [third.holder]: "1" });
    await third.unlock();
  });

  test("that is not reentrant refuses its holder at once, and keeps its queue", async () => {
    const [own, other] = clients(2).map((client) => client.getNonReentrantFairLock("a"));
    let waiting: Promise<unknown> | undefined;
    await own?.using(async (lease) => {
      waiting = other?.using(() => undefined);
      await queued(1);
      await expect(own.lock()).rejects.toThrow(ReentryError);
      await expect(own.tryLock({ waitMs: 1_000 })).rejects.toThrow(ReentryError);
      expect(await server().fields("a")).toEqual({ [lease.holder]: "1" });
      expect(await queueOf(raw)).toHaveLength(1);
    });
    await waiting;
  });
});
