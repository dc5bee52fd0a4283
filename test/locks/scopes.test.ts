import { describe, expect, test } from "vitest";
import { LeaseLostError } from "../../src/errors.js";
import type { Lease } from "../../src/lease.js";
import { gate } from "../support/run/gate.js";
import { watchLeaks } from "../support/run/leaks.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

describe("outside of any scope", () => {
  test("two calls exclude each other on one lock object", async () => {
    const { holdfast } = open();
    const lock = holdfast.getLock("a");
    const lease = await lock.lock();
    expect(await lock.tryLock()).toBeNull();
    await lease.unlock();
    expect((await lock.tryLock())?.state).toBe("held");
  });

  test("two calls exclude each other on two objects of one name", async () => {
    const { holdfast } = open();
    await holdfast.getLock("a").lock();
    expect(await holdfast.getLock("a").tryLock()).toBeNull();
  });

  test("two calls of one flow exclude each other, and the second waits", async () => {
    const { holdfast, clock } = open();
    const lock = holdfast.getLock("a");
    const order: string[] = [];
    const first = await lock.lock();
    const second = lock.lock().then(() => order.push("second in"));
    await clock.advance(1_000);
    order.push("first out");
    await first.unlock();
    await second;
    expect(order).toEqual(["first out", "second in"]);
  });

  test("each call is a thread of its own, and none is the current one", async () => {
    const { holdfast, fields } = open();
    const [a, b] = [holdfast.getLock("a"), holdfast.getLock("b")];
    const [leaseOfA, leaseOfB] = [await a.lock(), await b.lock()];
    expect(leaseOfA.threadId).not.toBe(leaseOfB.threadId);
    expect(await a.isHeldByThread(leaseOfB.threadId)).toBe(false);
    expect(await a.isHeldByCurrentThread()).toBe(false);
    expect(await a.getHoldCount()).toBe(0);
    expect(await a.isHeldByThread(leaseOfA.threadId)).toBe(true);
    expect(await a.getHoldCount(leaseOfA.threadId)).toBe(1);
    expect(fields("a")).toEqual({ [leaseOfA.holder]: "1" });
  });

  test("the lease is the only key: unlock without an id is refused and says so [R7]", async () => {
    const { holdfast } = open();
    const lock = holdfast.getLock("a");
    const lease = await lock.lock();
    await expect(lock.unlock()).rejects.toMatchObject({
      code: "ERR_HOLDFAST_NOT_HELD",
      message: expect.stringContaining("lease.unlock()"),
    });
    expect(lease.state).toBe("held");
    expect(await lock.isLocked()).toBe(true);
  });
});

describe("inside the body of using or run", () => {
  test("a call re-enters the hold around it, at any depth and through any object of the name", async () => {
    const { holdfast, fields } = open();
    const lock = holdfast.getLock("a");
    const counts: (number | undefined)[] = [];
    await lock.using(async (outer) => {
      await holdfast.getLock("a").using(async (middle) => {
        const inner = await lock.tryLock();
        counts.push(outer.holdCount, middle.holdCount, inner?.holdCount);
        expect(new Set([outer.holder, middle.holder, inner?.holder]).size).toBe(1);
        expect(fields("a")).toEqual({ [outer.holder]: "3" });
        await inner?.unlock();
        expect(fields("a")).toEqual({ [outer.holder]: "2" });
      });
      expect(fields("a")).toEqual({ [outer.holder]: "1" });
      expect(await lock.isHeldByCurrentThread()).toBe(true);
      expect(await lock.getHoldCount()).toBe(1);
    });
    expect(counts).toEqual([1, 2, 3]);
    expect(fields("a")).toEqual({});
  });

  test("a call re-enters from timers, callbacks and promises that the body started", async () => {
    const { holdfast } = open();
    const lock = holdfast.getLock("a");
    const tried = (lease: Lease | null) => lease?.holdCount ?? "refused";
    const enter = () => lock.using((lease) => tried(lease));
    await lock.using(async () => {
      expect(await Promise.resolve().then(enter)).toBe(2);
      expect(await new Promise((resolve) => setImmediate(() => resolve(enter())))).toBe(2);
      expect(await new Promise((resolve) => process.nextTick(() => resolve(enter())))).toBe(2);
    });
  });

  test("run re-enters the hold of a lease that was taken bare, and does not release it", async () => {
    const { holdfast, fields } = open();
    const lock = holdfast.getLock("a");
    const lease = await lock.lock();
    const count = await lease.run(() => lock.using((inner) => inner.holdCount));
    expect(count).toBe(2);
    expect(lease.state).toBe("held");
    expect(fields("a")).toEqual({ [lease.holder]: "1" });
  });

  test("the run of one lease in the scope of another has both on its path", async () => {
    const { holdfast } = open();
    const [a, b] = [holdfast.getLock("a"), holdfast.getLock("b")];
    const leaseOfB = await b.lock();
    await a.using((leaseOfA) =>
      leaseOfB.run(async () => {
        expect(await a.using(({ holder, holdCount }) => [holder, holdCount])).toEqual([leaseOfA.holder, 2]);
        expect(await b.using(({ holder, holdCount }) => [holder, holdCount])).toEqual([leaseOfB.holder, 2]);
      }),
    );
  });

  test("the result of the body is passed on, and what it throws, now or later", async () => {
    const { holdfast } = open();
    const lease = await holdfast.getLock("a").lock();
    expect(await lease.run(() => 1)).toBe(1);
    expect(await lease.run(async () => 2)).toBe(2);
    const error = new Error("of the body");
    const thrown = lease.run(() => {
      throw error;
    });
    await expect(thrown).rejects.toBe(error);
    await expect(lease.run(() => Promise.reject(error))).rejects.toBe(error);
    await expect(holdfast.asThread(() => Promise.reject(error))).rejects.toBe(error);
  });

  test("another lock is taken by the same thread, under a number of its own", async () => {
    const { holdfast } = open();
    const [a, b] = [holdfast.getLock("a"), holdfast.getLock("b")];
    await a.using((outer) =>
      b.using(async (inner) => {
        expect(inner.threadId).not.toBe(outer.threadId);
        expect(await b.isHeldByThread(outer.threadId)).toBe(true);
        expect(await a.isHeldByThread(inner.threadId)).toBe(true);
      }),
    );
  });

  test("a bare hold lies on nobody's path: who calls beside it is a stranger", async () => {
    const { holdfast } = open();
    const [a, b] = [holdfast.getLock("a"), holdfast.getLock("b")];
    await a.using(async () => {
      const bare = await b.lock();
      expect(await b.isHeldByCurrentThread()).toBe(false);
      expect(await b.tryLock()).toBeNull();
      expect(await bare.run(() => b.using(({ holdCount }) => holdCount))).toBe(2);
      const again = await b.lock({ threadId: bare.threadId });
      expect([again.holdCount, again.holder]).toEqual([2, bare.holder]);
      await again.unlock();
      await bare.unlock();
    });
  });

  test("branches that want a lock which only one of them holds exclude each other", async () => {
    const { holdfast, clock } = open();
    const [a, b] = [holdfast.getLock("a"), holdfast.getLock("b")];
    const order: string[] = [];
    const holders = new Set<string>();
    const hold = gate();
    const branch = (name: string, work: Promise<void>) =>
      b.using(async ({ holder }) => {
        holders.add(holder);
        order.push(`${name} in`);
        await work;
        order.push(`${name} out`);
      });
    const both = a.using(() => Promise.all([branch("1", hold.opened), branch("2", Promise.resolve())]));
    await clock.advance(1_000);
    hold.open();
    await both;
    expect(order).toEqual(["1 in", "1 out", "2 in", "2 out"]);
    expect(holders.size).toBe(2);
  });

  test("a lost hold is never re-entered and never replaced: LeaseLostError, and nothing is sent [R17]", async () => {
    const { holdfast, clock, driver } = open();
    const lock = holdfast.getLock("a");
    const body = async (lease: Lease) => {
      await clock.advance(2_000);
      const sent = driver.calls.length;
      await expect(lock.lock()).rejects.toBeInstanceOf(LeaseLostError);
      await expect(lock.tryLock()).rejects.toMatchObject({ reason: "expired", holder: lease.holder });
      await expect(lock.using(() => "in")).rejects.toBeInstanceOf(LeaseLostError);
      await expect(lease.run(() => "in")).rejects.toBeInstanceOf(LeaseLostError);
      expect(driver.calls).toHaveLength(sent);
    };
    await expect(lock.using({ leaseMs: 1_000 }, body)).rejects.toBeInstanceOf(LeaseLostError);
  });

  test("a hold that was stolen is not taken anew by re-entry, whoever has the lock now [R17]", async () => {
    const { holdfast, server, connect } = open();
    const lock = holdfast.getLock("a");
    const using = lock.using(async () => {
      server.command("DEL", "a");
      await expect(lock.tryLock()).rejects.toMatchObject({ reason: "stolen" });
      expect(server.dump()).toEqual({});
      const other = await connect().holdfast.getLock("a").lock();
      await expect(lock.tryLock()).rejects.toBeInstanceOf(LeaseLostError);
      await other.unlock();
    });
    await expect(using).rejects.toBeInstanceOf(LeaseLostError);
  });

  test("a hold that its body gave back early is on no path: the next call takes the lock anew", async () => {
    const { holdfast } = open();
    const lock = holdfast.getLock("a");
    await lock.using(async (lease) => {
      await lease.unlock();
      const next = await lock.lock();
      expect([next.holdCount, next.threadId > lease.threadId]).toEqual([1, true]);
      await next.unlock();
    });
  });
});
