import { describe, expect, test } from "vitest";
import { LeaseLostError } from "../../src/errors.js";
import type { Lease } from "../../src/lease.js";
import { gate } from "../support/run/gate.js";
import { watchLeaks } from "../support/run/leaks.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

const notHeld = { code: "ERR_HOLDFAST_NOT_HELD" };
const sayingUseTheLease = { ...notHeld, message: expect.stringContaining("lease") };

describe("asThread", () => {
  test("lets a second tryLock re-enter what the first has taken, and two unlocks free it", async () => {
    const { holdfast, fields } = open();
    const lock = holdfast.getLock("a");
    await holdfast.asThread(async () => {
      const [outer, inner] = [await lock.tryLock(), await lock.tryLock()];
      expect([outer?.holdCount, inner?.holdCount]).toEqual([1, 2]);
      expect(await lock.getHoldCount()).toBe(2);
      await lock.unlock();
      expect(await lock.isHeldByCurrentThread()).toBe(true);
      expect(fields("a")).toEqual({ [outer?.holder ?? ""]: "1" });
      await lock.unlock();
      expect(await lock.isHeldByCurrentThread()).toBe(false);
      expect(fields("a")).toEqual({});
      await expect(lock.unlock()).rejects.toMatchObject(notHeld);
    });
  });

  test("unlocks the innermost hold first", async () => {
    const { holdfast } = open();
    const lock = holdfast.getLock("a");
    await holdfast.asThread(async () => {
      const [first, second] = [await lock.lock(), await lock.lock()];
      await lock.unlock();
      expect([first.state, second.state]).toEqual(["held", "released"]);
      await lock.unlock();
      expect(first.state).toBe("released");
    });
  });

  test("unlocks the innermost of what is left when a lease was released out of order", async () => {
    const { holdfast, fields } = open();
    const lock = holdfast.getLock("a");
    await holdfast.asThread(async () => {
      const [first, second] = [await lock.lock(), await lock.lock()];
      await first.unlock();
      expect(fields("a")).toEqual({ [second.holder]: "1" });
      await lock.unlock();
      expect(second.state).toBe("released");
      expect(fields("a")).toEqual({});
    });
  });

  test("is another thread for each call of it, and a stranger to whoever is outside", async () => {
    const { holdfast } = open();
    const lock = holdfast.getLock("a");
    await holdfast.asThread(async () => {
      await lock.lock();
      expect(await holdfast.outside(() => holdfast.asThread(() => lock.tryLock()))).toBeNull();
      await lock.unlock();
    });
    await lock.lock();
    expect(await holdfast.asThread(() => lock.tryLock())).toBeNull();
  });

  test("knows nothing of the holds of another client", async () => {
    const { holdfast, connect } = open();
    const other = connect().holdfast;
    await holdfast.asThread(async () => {
      await holdfast.getLock("a").lock();
      expect(await other.getLock("a").isHeldByCurrentThread()).toBe(false);
      expect(await other.asThread(() => other.getLock("a").tryLock())).toBeNull();
      await expect(other.getLock("a").unlock()).rejects.toMatchObject(notHeld);
    });
  });

  test("inside asThread is the same thread, and its unlock stays with its own holds", async () => {
    const { holdfast } = open();
    const lock = holdfast.getLock("a");
    await holdfast.asThread(async () => {
      const outer = await lock.lock();
      await holdfast.asThread(async () => {
        const inner = await lock.lock();
        expect([inner.holder, inner.holdCount]).toEqual([outer.holder, 2]);
        await lock.unlock();
        expect([outer.state, inner.state]).toEqual(["held", "released"]);
      });
      await lock.unlock();
      expect(outer.state).toBe("released");
    });
  });

  test("inside using re-enters the hold of that, which its unlock leaves alone", async () => {
    const { holdfast } = open();
    const lock = holdfast.getLock("a");
    await lock.using((lease) =>
      holdfast.asThread(async () => {
        expect((await lock.lock()).holdCount).toBe(2);
        await lock.unlock();
        await expect(lock.unlock()).rejects.toMatchObject(notHeld);
        expect(lease.state).toBe("held");
      }),
    );
  });

  test("has the hold of a using in it on the path of that body only", async () => {
    const { holdfast } = open();
    const lock = holdfast.getLock("a");
    const [entered, leave] = [gate(), gate()];
    await holdfast.asThread(async () => {
      const body = lock.using(async ({ holdCount }) => {
        entered.open();
        await leave.opened;
        expect(await lock.using((inner) => inner.holdCount)).toBe(holdCount + 1);
        await expect(lock.unlock()).rejects.toMatchObject(notHeld);
      });
      await entered.opened;
      expect(await lock.isHeldByCurrentThread()).toBe(false);
      expect(await lock.tryLock()).toBeNull();
      await expect(lock.unlock()).rejects.toMatchObject(notHeld);
      leave.open();
      await body;
    });
  });

  test("lets using re-enter what was taken bare", async () => {
    const { holdfast } = open();
    const lock = holdfast.getLock("a");
    await holdfast.asThread(async () => {
      await lock.lock();
      expect(await lock.using(({ holdCount }) => holdCount)).toBe(2);
      await lock.unlock();
    });
  });

  test("lets two calls of one thread re-enter at the same time", async () => {
    const { holdfast, clock } = open();
    const lock = holdfast.getLock("a");
    const startMs = clock.monotonicMs();
    const entered: { readonly holdCount: number; readonly waitedMs: number }[] = [];
    const all = holdfast.asThread(async () => {
      await lock.lock();
      const both = await Promise.all([lock.lock({ waitMs: 100 }), lock.lock({ waitMs: 100 })]);
      entered.push(...both.map(({ holdCount }) => ({ holdCount, waitedMs: clock.monotonicMs() - startMs })));
    });
    await clock.advance(1_000);
    await all;
    expect(entered).toEqual([
      { holdCount: 2, waitedMs: 0 },
      { holdCount: 3, waitedMs: 0 },
    ]);
  });

  test("leaves a stranger's hold in it to its lease [R7]", async () => {
    const { holdfast } = open();
    const lock = holdfast.getLock("a");
    await holdfast.asThread(async () => {
      // While the thread still acquires the lock, the second call is a stranger that waits.
      const [first, second] = [lock.lock(), lock.lock()];
      await first;
      await lock.unlock();
      const stranger = await second;
      expect(await lock.isHeldByCurrentThread()).toBe(false);
      await expect(lock.unlock()).rejects.toMatchObject(sayingUseTheLease);
      expect(stranger.state).toBe("held");
      expect(await lock.tryLock()).toBeNull();
      await stranger.unlock();
    });
  });

  test("releases what it took while an earlier call of its own, which was cancelled, is still cleaned up [own-25]", async () => {
    const { holdfast, fields, clock } = open();
    const locks = [
      holdfast.getLock("a"),
      holdfast.getMultiLock(holdfast.getLock("a"), holdfast.getLock("b")),
    ];
    for (const lock of locks) {
      await holdfast.asThread(async () => {
        const controller = new AbortController();
        const cancelled = lock.lock({ signal: controller.signal });
        controller.abort();
        await expect(cancelled).rejects.toBe(controller.signal.reason);
        const taken = lock.lock();
        await clock.advance(1_000);
        await taken;
        await lock.unlock();
        expect(fields("a")).toEqual({});
      });
    }
  });

  test("does not free a hold that was lost, and takes the lock anew once the loss was told", async () => {
    const { holdfast, clock } = open();
    const lock = holdfast.getLock("a");
    await holdfast.asThread(async () => {
      const lost = await lock.lock({ leaseMs: 1_000 });
      await clock.advance(2_000);
      await expect(lock.tryLock()).rejects.toBeInstanceOf(LeaseLostError);
      await expect(lock.unlock()).rejects.toMatchObject({ ...notHeld, cause: lost.signal.reason });
      const next = await lock.tryLock();
      expect(next?.holdCount).toBe(1);
      expect(next?.threadId).toBeGreaterThan(lost.threadId);
      await lock.unlock();
    });
  });

  test("that has ended leaves its holds to their leases", async () => {
    const { holdfast, fields } = open();
    const lock = holdfast.getLock("a");
    const lease = await holdfast.asThread(() => lock.lock());
    expect(lease.state).toBe("held");
    await expect(lock.unlock()).rejects.toMatchObject(notHeld);
    await lease.unlock();
    expect(fields("a")).toEqual({});
  });
});

describe("branches that lock and unlock in Redisson's style inside one using", () => {
  test("are told to use the lease, whoever's hold it would have been [R7]", async () => {
    const { holdfast, fields } = open();
    const [a, b] = [holdfast.getLock("a"), holdfast.getLock("b")];
    await a.using(async (outer) => {
      await expect(a.unlock()).rejects.toMatchObject(sayingUseTheLease);
      expect(fields("a")).toEqual({ [outer.holder]: "1" });
      const branch = async () => {
        const lease = await b.lock();
        await expect(b.unlock()).rejects.toMatchObject(sayingUseTheLease);
        expect(lease.state).toBe("held");
        await lease.unlock();
      };
      await Promise.all([branch(), branch(), branch()]);
    });
  });

  test("never free each other's hold: each is alone until its own lease ends [R7]", async () => {
    const { holdfast } = open();
    const [a, b] = [holdfast.getLock("a"), holdfast.getLock("b")];
    let inside = 0;
    let most = 0;
    const branch = async () => {
      const lease: Lease = await b.lock();
      most = Math.max(most, ++inside);
      await b.unlock().catch(() => undefined);
      await new Promise(setImmediate);
      inside -= 1;
      await lease.unlock();
    };
    await a.using(() => Promise.all([branch(), branch(), branch()]));
    expect(most).toBe(1);
  });
});
