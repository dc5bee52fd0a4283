import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ioredisDriver } from "../../src/driver/ioredis/index.js";
import { NotHeldError, UnavailableError } from "../../src/errors.js";
import { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import type { LockOptions } from "../../src/options.js";
import { watchLeaks } from "../support/run/leaks.js";
import { backends, openedFor } from "../support/servers/backends.js";
import { type RedisServer, startRedis } from "../support/servers/redis-server.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();

const HOUR_MS = 60 * 60 * 1_000;
/** So long that whoever enters earlier was woken by something else. */
const NEVER_MS = 60_000;

/** The lease of a lock that is surely free. */
async function taken(lease: Promise<Lease | null>): Promise<Lease> {
  const got = await lease;
  if (got === null) throw new Error("the lock was not to be had");
  return got;
}

/** Whether another thread of the client gets the lock at once; it gives it back. */
function isFreeFor(client: Holdfast, name: string, options?: LockOptions): Promise<boolean> {
  return client.asThread(async () => {
    const lease = await client.getLock(name).tryLock(options);
    await lease?.unlock();
    return lease !== null;
  });
}

for (const backend of backends) {
  describe(`the reentrant lock on ${backend.name}, as the tests of Redisson's RLock have it,`, () => {
    const server = openedFor(backend);

    test("serves 32 threads that lock and unlock five names, and nobody meets anybody", async () => {
      const client = server().client();
      const inside = new Map<string, number>();
      let done = 0;
      const threads = Array.from({ length: 32 }, (_, thread) =>
        client.asThread(async () => {
          for (let round = 0; round < 20; round++) {
            const name = `lock:${(thread + round) % 5}`;
            const lock = client.getLock(name);
            await lock.lock();
            expect(inside.get(name) ?? 0).toBe(0);
            inside.set(name, 1);
            await new Promise(setImmediate);
            inside.set(name, 0);
            await lock.unlock();
            done += 1;
          }
        }),
      );
      await Promise.all(threads);
      expect(done).toBe(32 * 20);
    });

    test("lets timed waits on two names share the one subscriber of a client", async () => {
      const [holder, client] = [server().client(), server().client({ safetyPeriodMs: NEVER_MS })];
      const held = await Promise.all(["a", "b"].map((name) => holder.getLock(name).lock()));
      const waiting = ["a", "b"].map((name) => client.getLock(name).tryLock({ waitMs: NEVER_MS }));
      await Promise.all(held.map((lease) => lease.unlock()));
      for (const call of waiting) {
        const lease = await taken(call);
        expect(lease.state).toBe("held");
        await lease.unlock();
      }
    });

    test("keeps the longest TTL when three fixed leases are taken and two given back", async () => {
      const client = server().client();
      const lock = client.getLock("fixed");
      await client.asThread(async () => {
        for (let i = 0; i < 3; i++) await lock.lock({ leaseMs: 10_000 });
        await lock.unlock();
        await lock.unlock();
        expect(await lock.remainTimeToLive()).toBeGreaterThan(9_000);
        expect(await lock.remainTimeToLive()).toBeLessThanOrEqual(10_000);
        await lock.unlock();
      });
    });

    test("answers null when a timed tryLock has waited its time for a held lock", async () => {
      const [holder, client] = [server().client(), server().client()];
      const lease = await holder.getLock("held").lock();
      const startMs = performance.now();
      expect(await client.getLock("held").tryLock({ waitMs: 300 })).toBeNull();
      const waitedMs = performance.now() - startMs;
      expect(waitedMs).toBeGreaterThanOrEqual(300);
      expect(waitedMs).toBeLessThan(3_000);
      await lease.unlock();
    });

    test("is free for every lock object of every client after forceUnlock", async () => {
      const [first, second] = [server().client(), server().client()];
      const lease = await first.getLock("forced").lock();
      expect(await second.getLock("forced").forceUnlock()).toBe(true);
      expect(await first.getLock("forced").isLocked()).toBe(false);
      expect(await second.getLock("forced").isLocked()).toBe(false);
      expect(await second.getLock("forced").forceUnlock()).toBe(false);
      await expect(lease.unlock()).rejects.toBeInstanceOf(NotHeldError);
    });

    test("lets a waiter in when a fixed lease runs out, and refuses the first owner's unlock", async () => {
      const [first, second] = [server().client(), server().client({ safetyPeriodMs: NEVER_MS })];
      const startMs = performance.now();
      const expired = await first.getLock("short").lock({ leaseMs: 200 });
      const next = await second.getLock("short").lock();
      const enteredMs = performance.now() - startMs;
      expect(enteredMs).toBeGreaterThanOrEqual(199);
      expect(enteredMs).toBeLessThan(5_000);
      await expect(expired.unlock()).rejects.toBeInstanceOf(NotHeldError);
      expect(await server().fields("short")).toEqual({ [next.holder]: "1" });
      await next.unlock();
    });

    test("has the TTL of its lease, none when free, and the watchdog's afterwards", async () => {
      const lock = server().client().getLock("ttl");
      const long = await lock.lock({ leaseMs: HOUR_MS });
      expect(await lock.remainTimeToLive()).toBeGreaterThan(HOUR_MS - 10_000);
      await long.unlock();
      expect(await lock.remainTimeToLive()).toBe(-2);
      const renewed = await lock.lock();
      expect(await lock.remainTimeToLive()).toBeGreaterThan(20_000);
      expect(await lock.remainTimeToLive()).toBeLessThanOrEqual(30_000);
      await renewed.unlock();
    });

    test("falls within the watchdog's lease when the client of its holder is closed", async () => {
      const [first, second] = [
        server().client({ watchdogMs: 300 }),
        server().client({ safetyPeriodMs: NEVER_MS }),
      ];
      const lease = await first.getLock("abandoned").lock();
      await first.close();
      const startMs = performance.now();
      const next = await second.getLock("abandoned").lock();
      expect(performance.now() - startMs).toBeLessThan(3_000);
      expect(lease.state).toBe("lost");
      await next.unlock();
    });

    test("counts the holds of a thread: 0, 1, 0, 2, 1, 0", async () => {
      const client = server().client();
      const lock = client.getLock("counted");
      const counts = await client.asThread(async () => {
        const seen = [await lock.getHoldCount()];
        const look = async () => seen.push(await lock.getHoldCount());
        await lock.lock();
        await look();
        await lock.unlock();
        await look();
        await lock.lock();
        await lock.lock();
        await look();
        await lock.unlock();
        await look();
        await lock.unlock();
        await look();
        return seen;
      });
      expect(counts).toEqual([0, 1, 0, 2, 1, 0]);
    });

    test("is held by the current thread only where it was taken, before and after its release", async () => {
      const client = server().client();
      const lock = client.getLock("whose");
      const elsewhere = () => client.asThread(() => lock.isHeldByCurrentThread());
      await client.asThread(async () => {
        expect(await lock.isHeldByCurrentThread()).toBe(false);
        const lease = await lock.lock();
        expect(await lock.isHeldByCurrentThread()).toBe(true);
        expect(await lock.isHeldByThread(lease.threadId)).toBe(true);
        expect(await client.outside(elsewhere)).toBe(false);
        await lock.unlock();
        expect(await lock.isHeldByCurrentThread()).toBe(false);
        expect(await client.outside(elsewhere)).toBe(false);
      });
    });

    test("shows every thread that somebody holds it", async () => {
      const [first, second] = [server().client(), server().client()];
      const lease = await first.getLock("seen").lock();
      expect(await first.asThread(() => first.getLock("seen").isLocked())).toBe(true);
      expect(await second.getLock("seen").isLocked()).toBe(true);
      await lease.unlock();
      expect(await second.getLock("seen").isLocked()).toBe(false);
    });

    test("refuses an unlock by anybody who does not hold it", async () => {
      const [first, second] = [server().client(), server().client()];
      const lease = await first.getLock("mine").lock();
      const strangers = [
        first.getLock("mine").unlock(),
        first.getLock("mine").unlock(7),
        first.asThread(() => first.getLock("mine").unlock()),
        second.asThread(() => second.getLock("mine").unlock()),
      ];
      for (const unlock of strangers) await expect(unlock).rejects.toBeInstanceOf(NotHeldError);
      expect(await server().fields("mine")).toEqual({ [lease.holder]: "1" });
      await lease.unlock();
    });

    test("can be locked and unlocked again and again", async () => {
      const client = server().client();
      const lock = client.getLock("again");
      await client.asThread(async () => {
        for (let round = 0; round < 2; round++) {
          await lock.lock();
          expect(await server().fields("again")).not.toEqual({});
          await lock.unlock();
          expect(await server().fields("again")).toEqual({});
        }
      });
    });

    test("is entered once more by a second tryLock of asThread, and refuses others while one hold remains", async () => {
      const [client, other] = [server().client(), server().client()];
      const lock = client.getLock("reentered");
      await client.asThread(async () => {
        const first = await taken(lock.tryLock());
        const second = await taken(lock.tryLock());
        expect([first.holdCount, second.holdCount]).toEqual([1, 2]);
        expect(await server().fields("reentered")).toEqual({ [first.holder]: "2" });
        await lock.unlock();
        expect(await client.outside(() => isFreeFor(client, "reentered"))).toBe(false);
        expect(await isFreeFor(other, "reentered")).toBe(false);
        await lock.unlock();
        expect(await isFreeFor(other, "reentered")).toBe(true);
      });
    });

    test.each([2, 3])("serves %i rivals in turn", async (count) => {
      const clients = Array.from({ length: count }, () => server().client());
      const events: string[] = [];
      const rivals = clients.map((client, rival) =>
        client.getLock("rivals").using(async () => {
          events.push(`${rival} in`);
          await new Promise(setImmediate);
          events.push(`${rival} out`);
        }),
      );
      await Promise.all(rivals);
      expect(events).toHaveLength(2 * count);
      for (let i = 0; i < events.length; i += 2) {
        expect(events[i + 1]).toBe(events[i]?.replace("in", "out"));
      }
    });

    test.each([1, 16])("loses no update of a counter shared by %i clients", async (count) => {
      const clients = Array.from({ length: count }, () => server().client());
      let counter = 0;
      const increments = clients.flatMap((client) =>
        Array.from({ length: 160 / count }, () =>
          client.getLock("counter").using(async () => {
            const read = counter;
            await new Promise(setImmediate);
            counter = read + 1;
          }),
        ),
      );
      await Promise.all(increments);
      expect(counter).toBe(160);
    });
  });
}

describe("the reentrant lock on a fake clock", () => {
  const open = fakeTime();

  test("goes on renewing a hold while 16 threads lock and unlock all the time", async () => {
    const { holdfast, clock, ttlMs } = open();
    const lease = await holdfast.getLock("held").lock();
    const threads = Array.from({ length: 16 }, (_, i) => holdfast.getLock(`busy:${i % 4}`));
    for (let passedMs = 0; passedMs < 90_000; passedMs += 3_000) {
      await Promise.all(threads.map((lock) => lock.using(() => undefined)));
      await clock.advance(3_000);
      expect(lease.state).toBe("held");
      expect(ttlMs("held")).toBeGreaterThan(15_000);
    }
    await lease.unlock();
  });
});

describe("the reentrant lock on a real server", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  test("throws from tryLock when Redis is down, instead of answering null", async () => {
    const client = new Holdfast(ioredisDriver(server.client()), { commandTimeoutMs: 200 });
    await server.kill();
    await expect(client.getLock("unreachable").tryLock()).rejects.toBeInstanceOf(UnavailableError);
    await client.close();
  });
});
