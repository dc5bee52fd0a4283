import { describe, expect, test } from "vitest";
import { InvalidNameError, LeaseLostError, NotHeldError } from "../../src/errors.js";
import type { Lease } from "../../src/lease.js";
import { gate } from "../support/run/gate.js";
import { watchLeaks } from "../support/run/leaks.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

describe("leaseHere", () => {
  test("is the lease of the innermost body that has the lock, and undefined outside", async () => {
    const { holdfast, driver } = open();
    const [a, b] = [holdfast.getLock("a"), holdfast.getLock("b")];
    expect(holdfast.leaseHere("a")).toBeUndefined();
    await a.using(async (outer) => {
      expect(holdfast.leaseHere("a")).toBe(outer);
      expect(holdfast.leaseHere("b")).toBeUndefined();
      await b.using(async (other) => {
        expect([holdfast.leaseHere("a"), holdfast.leaseHere("b")]).toEqual([outer, other]);
        await a.using((inner) => expect(holdfast.leaseHere("a")).toBe(inner));
        expect(holdfast.leaseHere("a")).toBe(outer);
      });
    });
    expect(holdfast.leaseHere("a")).toBeUndefined();
    expect(driver.timesOf("lock-acquire")).toHaveLength(3);
  });

  test("is that of run, of tryUsing, and of a lock taken in asThread", async () => {
    const { holdfast } = open();
    const lock = holdfast.getLock("a");
    const lease = await lock.lock();
    expect(holdfast.leaseHere("a")).toBeUndefined();
    await lease.run(() => expect(holdfast.leaseHere("a")).toBe(lease));
    await lease.unlock();
    await lock.tryUsing((tried) => expect(holdfast.leaseHere("a")).toBe(tried));
    await holdfast.asThread(async () => {
      expect(holdfast.leaseHere("a")).toBeUndefined();
      const first = await lock.lock();
      const second = await lock.lock();
      expect(holdfast.leaseHere("a")).toBe(second);
      await lock.unlock();
      expect(holdfast.leaseHere("a")).toBe(first);
      await lock.unlock();
      expect(holdfast.leaseHere("a")).toBeUndefined();
    });
  });

  test.each(["getFairLock", "getSpinLock", "getNonReentrantLock", "getFencedLock"] as const)(
    "is that of any kind: %s",
    async (kind) => {
      const { holdfast, server } = open();
      await holdfast[kind]("a").using((lease: Lease) => expect(holdfast.leaseHere("a")).toBe(lease));
      server.command("DEL", "redisson_lock_token:{a}");
    },
  );

  test("is that of the read or the write lock of the name, whichever is the innermost", async () => {
    const { holdfast } = open();
    const pair = holdfast.getReadWriteLock("a");
    await pair.writeLock().using(async (write) => {
      expect(holdfast.leaseHere("a")).toBe(write);
      await pair.readLock().using((read) => expect(holdfast.leaseHere("a")).toBe(read));
    });
  });

  test("has the token of a fenced lock", async () => {
    const { holdfast, server } = open();
    await holdfast.getFencedLock("a").using(({ token }) => {
      const here = holdfast.leaseHere("a");
      expect(here !== undefined && "token" in here && here.token).toBe(token);
    });
    server.command("DEL", "redisson_lock_token:{a}");
  });

  test("is the joint lease for each member of a joint lock, and not for its joined name", async () => {
    const { holdfast } = open();
    const locks = ["a", "b", "c"].map((name) => holdfast.getLock(name));
    for (const joint of [holdfast.getMultiLock(...locks), holdfast.getRedLock(...locks)]) {
      await joint.using((lease) => {
        for (const name of ["a", "b", "c"]) expect(holdfast.leaseHere(name)).toBe(lease);
        expect(holdfast.leaseHere("a+b+c")).toBeUndefined();
      });
    }
    await holdfast.asThread(async () => {
      const lease = await holdfast.getMultiLock(...locks).lock();
      expect(holdfast.leaseHere("b")).toBe(lease);
      await lease.unlock();
    });
  });

  test("keeps bodies that run at the same time apart", async () => {
    const { holdfast } = open();
    const both = gate();
    const bodies = ["a", "b"].map((name) =>
      holdfast.getLock(name).using(async (lease) => {
        await both.opened;
        return ["a", "b"].map((each) => holdfast.leaseHere(each) === lease);
      }),
    );
    both.open();
    const seen = await Promise.all(bodies);
    expect(seen).toEqual([
      [true, false],
      [false, true],
    ]);
  });

  test("is undefined in outside, in a callback that outlives the body, and for another client", async () => {
    const { holdfast, connect } = open();
    const { holdfast: other } = connect();
    const end = gate();
    let outlives: Promise<Lease | undefined> | undefined;
    await holdfast.getLock("a").using(async (lease) => {
      expect(holdfast.outside(() => holdfast.leaseHere("a"))).toBeUndefined();
      expect(other.leaseHere("a")).toBeUndefined();
      outlives = end.opened.then(() => holdfast.leaseHere("a"));
      await undefined;
      expect(holdfast.leaseHere("a")).toBe(lease);
    });
    end.open();
    expect(await outlives).toBeUndefined();
  });

  test("is that of the outer body once the inner lease was released, and the lost lease itself", async () => {
    const { holdfast, server } = open();
    const lock = holdfast.getLock("a");
    await expect(
      lock.using(async (outer) => {
        await lock.using(async (inner) => {
          await inner.unlock();
          expect(holdfast.leaseHere("a")).toBe(outer);
        });
        await lock.forceUnlock();
        expect(holdfast.leaseHere("a")).toBe(outer);
        expect(outer.state).toBe("lost");
        expect(() => holdfast.assertLocked("a")).toThrow(LeaseLostError);
      }),
    ).rejects.toBeInstanceOf(LeaseLostError);
    expect(server.dump()).toEqual({});
  });

  test("takes the name as the factory does: through the mapper, and refuses what is none", async () => {
    const { holdfast } = open({ nameMapper: (name) => `app:${name}` });
    await holdfast.getLock("a").using((lease) => {
      expect(holdfast.leaseHere("a")).toBe(lease);
      expect(holdfast.leaseHere("app:a")).toBeUndefined();
    });
    for (const name of ["", 7, undefined, ["a"]]) {
      expect(() => holdfast.leaseHere(name as string)).toThrow(InvalidNameError);
      expect(() => holdfast.assertLocked(name as string)).toThrow(InvalidNameError);
    }
  });
});

describe("assertLocked", () => {
  test("passes inside, and throws NotHeldError outside and once the lease was released", async () => {
    const { holdfast, driver } = open();
    expect(() => holdfast.assertLocked("a")).toThrow(NotHeldError);
    expect(() => holdfast.assertLocked("a")).toThrow(
      'lock "a" is not held: no body around this call holds it',
    );
    await holdfast.getLock("a").using(async (lease) => {
      expect(holdfast.assertLocked("a")).toBeUndefined();
      await lease.unlock();
      expect(() => holdfast.assertLocked("a")).toThrow(NotHeldError);
    });
    expect(driver.sent.map(({ script }) => script)).toEqual(["server-probe", "lock-acquire", "lock-release"]);
  });

  test("throws LeaseLostError from the moment at which the lease may not be trusted any more", async () => {
    const { holdfast, clock } = open();
    const lock = holdfast.getLock("a");
    const call = lock.using({ leaseMs: 1_000 }, async () => {
      await clock.advance(900);
      expect(holdfast.assertLocked("a")).toBeUndefined();
      await clock.advance(100);
      expect(() => holdfast.assertLocked("a")).toThrow(LeaseLostError);
    });
    await expect(call).rejects.toMatchObject({ reason: "expired" });
  });
});
