import { describe, expect, test } from "vitest";
import { NotHeldError, UnavailableError } from "../../src/errors.js";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import { deliverLate, type LateDelivery, loseReply } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

const OWN_BEGIN = 2 ** 32;

describe("an explicit thread id", () => {
  test("is the number in the holder field, re-enters what it holds and releases it", async () => {
    const { holdfast, fields } = open();
    const lock = holdfast.getLock("a");
    const outer = await lock.lock({ threadId: 7 });
    const inner = await lock.tryLock({ threadId: 7 });
    expect([outer.holdCount, inner?.holdCount]).toEqual([1, 2]);
    expect(fields("a")).toEqual({ [`${holdfast.clientId}:7`]: "2" });
    expect(await lock.isHeldByThread(7)).toBe(true);
    await lock.unlock(7);
    expect([outer.state, inner?.state]).toEqual(["held", "released"]);
    await lock.unlock(7);
    expect(fields("a")).toEqual({});
    await expect(lock.unlock(7)).rejects.toBeInstanceOf(NotHeldError);
  });

  test("never collides with an id that the client gives out itself [R8]", async () => {
    const { holdfast, fields } = open();
    const lock = holdfast.getLock("a");
    for (const threadId of [1, 2, OWN_BEGIN - 1]) {
      const chosen = await lock.lock({ threadId });
      expect(await lock.tryLock()).toBeNull();
      await chosen.unlock();
      const given = await lock.lock();
      expect(given.threadId).toBeGreaterThanOrEqual(OWN_BEGIN);
      expect(await lock.tryLock({ threadId })).toBeNull();
      expect(fields("a")).toEqual({ [given.holder]: "1" });
      await given.unlock();
    }
  });

  test("excludes every other id, and the same id of another client", async () => {
    const { holdfast, connect } = open();
    await holdfast.getLock("a").lock({ threadId: 7 });
    expect(await holdfast.getLock("a").tryLock({ threadId: 8 })).toBeNull();
    expect(await connect().holdfast.getLock("a").tryLock({ threadId: 7 })).toBeNull();
  });

  test("may be used again as soon as it holds nothing, as often as one likes", async () => {
    const { holdfast } = open();
    const lock = holdfast.getLock("a");
    for (let i = 0; i < 3; i++) {
      const lease = await lock.lock({ threadId: 7 });
      expect([lease.threadId, lease.holdCount]).toEqual([7, 1]);
      await lease.unlock();
    }
  });

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])(
    "is refused when it is %d",
    async (threadId) => {
      const { holdfast, driver } = open();
      const lock = holdfast.getLock("a");
      await expect(lock.lock({ threadId })).rejects.toBeInstanceOf(RangeError);
      await expect(lock.unlock(threadId)).rejects.toBeInstanceOf(RangeError);
      await expect(lock.getHoldCount(threadId)).rejects.toBeInstanceOf(RangeError);
      expect(driver.calls).toEqual([]);
    },
  );

  test("works beside a scope without joining it", async () => {
    const { holdfast } = open();
    const [a, b] = [holdfast.getLock("a"), holdfast.getLock("b")];
    await a.using(async () => {
      expect(await a.tryLock({ threadId: 7 })).toBeNull();
      const lease = await b.lock({ threadId: 7 });
      expect(await b.tryLock()).toBeNull();
      await lease.unlock();
    });
  });

  test("in asThread is nobody's unlock but its own", async () => {
    const { holdfast } = open();
    const lock = holdfast.getLock("a");
    await holdfast.asThread(async () => {
      const lease = await lock.lock({ threadId: 7 });
      await expect(lock.unlock()).rejects.toBeInstanceOf(NotHeldError);
      expect(lease.state).toBe("held");
      await lock.unlock(7);
      expect(lease.state).toBe("released");
    });
  });
});

describe("the thread id of a live lease", () => {
  test("re-enters its lock from anywhere", async () => {
    const { holdfast, fields } = open();
    const lock = holdfast.getLock("a");
    const lease = await lock.lock();
    const again = await lock.lock({ threadId: lease.threadId });
    expect([again.holder, again.holdCount]).toEqual([lease.holder, 2]);
    await lock.unlock(lease.threadId);
    expect([lease.state, again.state]).toEqual(["held", "released"]);
    expect(fields("a")).toEqual({ [lease.holder]: "1" });
  });

  test("takes another lock as the same thread, under a number of its own", async () => {
    const { holdfast } = open();
    const [a, b] = [holdfast.getLock("a"), holdfast.getLock("b")];
    const leaseOfA = await a.lock();
    const leaseOfB = await b.lock({ threadId: leaseOfA.threadId });
    expect(leaseOfB.threadId).toBeGreaterThan(leaseOfA.threadId);
    expect(await a.isHeldByThread(leaseOfB.threadId)).toBe(true);
    await b.unlock(leaseOfA.threadId);
    expect(leaseOfB.state).toBe("released");
  });

  test("is nobody's once the lease is released, and was never another client's", async () => {
    const { holdfast, connect } = open();
    const lock = holdfast.getLock("a");
    const lease = await lock.lock();
    const lock2 = connect().holdfast.getLock("a");
    await expect(lock2.lock({ threadId: lease.threadId })).rejects.toBeInstanceOf(NotHeldError);
    await lease.unlock();
    await expect(lock.lock({ threadId: lease.threadId })).rejects.toBeInstanceOf(NotHeldError);
    await expect(lock.tryLock({ threadId: OWN_BEGIN + 1_000 })).rejects.toBeInstanceOf(NotHeldError);
    expect(await lock.isHeldByThread(lease.threadId)).toBe(false);
  });

  test("is nobody's once the lease is lost", async () => {
    const { holdfast, clock } = open();
    const lock = holdfast.getLock("a");
    const lease = await lock.lock({ leaseMs: 1_000 });
    await clock.advance(2_000);
    expect(lease.state).toBe("lost");
    await expect(lock.tryLock({ threadId: lease.threadId })).rejects.toBeInstanceOf(NotHeldError);
  });
});

describe("the next acquire under an explicit id", () => {
  test("waits until no copy of the last release can arrive any more", async () => {
    const { holdfast, driver, clock, fields } = open({ commandTimeoutMs: 1_000 });
    const lock = holdfast.getLock("a");
    const lease = await lock.lock({ threadId: 7 });
    const copy = deliverLate({ told: true });
    void driver.next(copy, "lock-release");
    const unlocked = lease.unlock();
    await clock.advance(100);
    await unlocked;
    const next = lock.lock({ threadId: 7 });
    await clock.advance(500);
    expect(driver.names.filter((name) => name === "lock-acquire")).toHaveLength(1);
    await clock.advance(1_000);
    const { state } = await next;
    await copy.arrive();
    expect(state).toBe("held");
    expect(fields("a")).toEqual({ [lease.holder]: "1" });
    await lock.unlock(7);
  });

  test("waits until no copy of an acquire that was given up can arrive any more", async () => {
    const { holdfast, driver, clock, fields } = open({ commandTimeoutMs: 1_000 });
    const lock = holdfast.getLock("a");
    await (await lock.lock({ threadId: 7 })).unlock();
    const copies: LateDelivery[] = [];
    let heldUp = true;
    const standing: CallFault = {
      name: "held up for a while",
      meet: (deliver, scripted) => {
        if (!heldUp) return deliver();
        const copy = deliverLate({ told: true });
        copies.push(copy);
        void scripted.next(standing, "lock-acquire");
        return copy.meet(deliver, scripted);
      },
    };
    void driver.next(standing, "lock-acquire");
    const failed = lock.tryLock({ threadId: 7 }).catch((error: unknown) => error);
    await clock.advance(1_000);
    expect(await failed).toBeInstanceOf(UnavailableError);
    heldUp = false;
    const next = lock.lock({ threadId: 7 });
    await clock.advance(500);
    const sent = driver.timesOf("lock-acquire").length;
    expect(copies).toHaveLength(sent - 1);
    // In time for the last of their deadlines, so that it takes the lock; the clean-up goes on until none can.
    for (const copy of copies) await copy.arrive();
    expect(fields("a")).not.toEqual({});
    await clock.advance(1_500);
    const { holder, holdCount } = await next;
    expect([fields("a"), holdCount]).toEqual([{ [holder]: "1" }, 1]);
    expect(driver.timesOf("lock-acquire")).toHaveLength(sent + 1);
    await lock.unlock(7);
    expect(fields("a")).toEqual({});
  });

  test("takes over what is left of its own lost stay", async () => {
    const { holdfast, clock, fields } = open();
    const lock = holdfast.getLock("a");
    const outer = await lock.lock({ threadId: 7, maxHoldMs: 1_000 });
    const inner = await lock.lock({ threadId: 7, maxHoldMs: 1_000 });
    await clock.advance(1_000);
    expect([outer.state, inner.state]).toEqual(["lost", "lost"]);
    expect(fields("a")).toEqual({ [outer.holder]: "2" });
    const next = lock.tryLock({ threadId: 7 });
    await clock.advance(10_000);
    expect((await next)?.holdCount).toBe(1);
    await lock.unlock(7);
    expect(fields("a")).toEqual({});
  });

  test("after a lost release reply finds the lock free, and releases it once [B14]", async () => {
    const { holdfast, driver, clock, fields } = open();
    const lock = holdfast.getLock("a");
    const lease = await lock.lock({ threadId: 7 });
    void driver.next(loseReply, "lock-release");
    const unlocked = lease.unlock();
    await clock.advance(100);
    await unlocked;
    expect(fields("a")).toEqual({});
    await clock.advance(10_000);
    expect((await lock.lock({ threadId: 7 })).holdCount).toBe(1);
  });
});
