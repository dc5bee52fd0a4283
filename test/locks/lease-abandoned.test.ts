import { describe, expect, test } from "vitest";
import { events } from "../../src/events.js";
import type { Holdfast } from "../../src/holdfast.js";
import { collectAll, untilCollected } from "../support/run/garbage.js";
import { gate } from "../support/run/gate.js";
import { watchLeaks } from "../support/run/leaks.js";
import { endRecordings, recorded } from "../support/run/recorded-events.js";
import { fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
endRecordings();
const open = fakeTime({ forgets: true });

/** Takes a lock and forgets its lease, in a frame of its own. */
async function forget(holdfast: Holdfast, name: string): Promise<string> {
  return (await holdfast.getLock(name).lock()).holder;
}

describe("a lease that was forgotten", () => {
  test("is told by an event, is renewed no more, and its key falls by its TTL", async () => {
    const { holdfast, clock, driver, fields } = open();
    const [abandoned, lost] = [recorded(events.leaseAbandoned), recorded(events.leaseLost)];
    const holder = await forget(holdfast, "a");
    await clock.advance(10_100);
    await untilCollected(() => abandoned.length > 0);
    expect(abandoned).toMatchObject([{ name: "a", kind: "lock", holder, heldMs: 10_100 }]);
    const renewals = driver.timesOf("lock-renew");
    expect(fields("a")).toEqual({ [holder]: "1" });
    await clock.advance(30_001);
    expect(driver.timesOf("lock-renew")).toEqual(renewals);
    expect(fields("a")).toEqual({});
    expect(lost).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });

  test("with a fixed lease leaves nothing behind either", async () => {
    const { holdfast, clock } = open();
    const abandoned = recorded(events.leaseAbandoned);
    const forgetFixed = async () => {
      expect((await holdfast.getLock("a").lock({ leaseMs: 60_000 })).state).toBe("held");
    };
    await forgetFixed();
    await untilCollected(() => abandoned.length > 0);
    await clock.advance(60_001);
    expect(clock.pendingTimers).toBe(0);
  });

  test("takes no hold around it with it: the next release frees the lock", async () => {
    const { holdfast, clock, fields } = open();
    const abandoned = recorded(events.leaseAbandoned);
    const lock = holdfast.getLock("a");
    await lock.using(async (outer) => {
      await forget(holdfast, "a");
      expect(fields("a")).toEqual({ [outer.holder]: "2" });
      await untilCollected(() => abandoned.length > 0);
      await clock.advance(60_000);
      expect(outer.state).toBe("held");
    });
    expect(fields("a")).toEqual({});
  });

  test.each(["fixed", "watchdog"] as const)(
    "and whose signal was kept still aborts that when its %s lease runs out",
    async (kind) => {
      const { holdfast, clock, fields } = open();
      const abandoned = recorded(events.leaseAbandoned);
      const keepSignal = async () => {
        const lease = await holdfast.getLock("a").lock(kind === "fixed" ? { leaseMs: 30_000 } : {});
        return { signal: lease.signal, holder: lease.holder };
      };
      const { signal, holder } = await keepSignal();
      await untilCollected(() => abandoned.length > 0);
      await clock.advance(29_000);
      expect(signal.aborted).toBe(false);
      expect(fields("a")).toEqual({ [holder]: "1" });
      await clock.advance(999);
      expect(signal.reason).toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST", reason: "expired" });
      await clock.advance(2);
      expect(fields("a")).toEqual({});
      expect(clock.pendingTimers).toBe(0);
    },
  );

  test.each([
    ["a lock", (client: Holdfast) => client.getLock("a")],
    ["a read lock", (client: Holdfast) => client.getReadWriteLock("a").readLock()],
  ])(
    "and whose signal was kept is not kept alive by the renewals of the hold of %s around it",
    async (_, lockOf) => {
      const { holdfast, clock, server } = open();
      const abandoned = recorded(events.leaseAbandoned);
      const lock = lockOf(holdfast);
      const outer = await lock.lock();
      const keepSignal = async () => (await lock.lock({ threadId: outer.threadId })).signal;
      const signal = await keepSignal();
      await untilCollected(() => abandoned.length > 0);
      await clock.advance(29_000);
      expect([outer.state, signal.aborted]).toEqual(["held", false]);
      // What stays until the inner hold has ended ends with that.
      await outer.unlock();
      await clock.advance(1_001);
      expect(signal.reason).toMatchObject({ reason: "expired" });
      expect(server.dump()).toEqual({});
    },
  );

  test("and whose signal was kept leaves no key behind when it was a read inside one with a fixed lease", async () => {
    const { holdfast, clock, server } = open();
    const abandoned = recorded(events.leaseAbandoned);
    const lock = holdfast.getReadWriteLock("a").readLock();
    const outer = await lock.lock({ leaseMs: 20_000 });
    const keepSignal = async () => (await lock.lock({ threadId: outer.threadId })).signal;
    const signal = await keepSignal();
    await untilCollected(() => abandoned.length > 0);
    await clock.advance(30_001);
    expect([outer.state, signal.aborted, server.dump()]).toEqual(["lost", true, {}]);
  });

  test("is told of among many that are released in any order", async () => {
    const { holdfast } = open();
    const abandoned = recorded(events.leaseAbandoned);
    const names = Array.from({ length: 60 }, (_, at) => `lock ${at}`);
    const isReleased = (at: number) => at % 3 > 0;
    const takeMany = async () => {
      const leases = await Promise.all(names.map((name) => holdfast.getLock(name).lock()));
      const released = leases.filter((_, at) => isReleased(at));
      // The first, the last, the second, ...
      for (let turn = 0; released.length > 0; turn += 1) {
        await (turn % 2 === 0 ? released.shift() : released.pop())?.unlock();
      }
    };
    await takeMany();
    const forgotten = names.filter((_, at) => !isReleased(at)).sort();
    await untilCollected(() => abandoned.length >= forgotten.length);
    await collectAll();
    expect(abandoned.map(({ name }) => name).sort()).toEqual(forgotten);
  });

  test("is kept by nothing once it was released: the next collection takes it", async () => {
    const { holdfast } = open();
    const takeAndRelease = async () => {
      const leases = await Promise.all(["a", "b", "c"].map((name) => holdfast.getLock(name).lock()));
      const kept = leases.map((lease) => new WeakRef(lease));
      for (const lease of leases) await lease.unlock();
      return kept;
    };
    const kept = await takeAndRelease();
    await new Promise(setImmediate);
    globalThis.gc?.();
    expect(kept.map((lease) => lease.deref())).toEqual([undefined, undefined, undefined]);
  });

  test("after its release or its loss is nothing to tell", async () => {
    const { holdfast, clock } = open();
    const abandoned = recorded(events.leaseAbandoned);
    const takeAndRelease = async () => {
      await (await holdfast.getLock("a").lock()).unlock();
      const short = await holdfast.getLock("b").lock({ leaseMs: 50 });
      await clock.advance(60);
      expect(short.state).toBe("lost");
    };
    await takeAndRelease();
    await collectAll();
    expect(abandoned).toEqual([]);
  });
});

describe("a lease is not taken for forgotten", () => {
  /** Lets the garbage be collected in a body that has the hold, and looks whether the lock is renewed all the same. */
  async function bodyThatCollects({ clock, ttlMs }: ReturnType<typeof open>): Promise<void> {
    await collectAll();
    await clock.advance(60_000);
    expect(ttlMs("a")).toBeGreaterThan(0);
  }

  test("while the body of its using goes on", async () => {
    const world = open();
    const abandoned = recorded(events.leaseAbandoned);
    await world.holdfast.getLock("a").using(() => bodyThatCollects(world));
    expect(abandoned).toEqual([]);
  });

  test("while the body of its run goes on", async () => {
    const world = open();
    const abandoned = recorded(events.leaseAbandoned);
    const run = async () => (await world.holdfast.getLock("a").lock()).run(() => bodyThatCollects(world));
    await run();
    expect(abandoned).toEqual([]);
    await untilCollected(() => abandoned.length > 0);
  });

  test("in asThread, whose unlock can still release it, until that ends", async () => {
    const world = open();
    const abandoned = recorded(events.leaseAbandoned);
    const lock = world.holdfast.getLock("a");
    await world.holdfast.asThread(async () => {
      await forget(world.holdfast, "a");
      await bodyThatCollects(world);
      await lock.unlock();
      await forget(world.holdfast, "a");
      await collectAll();
      expect(abandoned).toEqual([]);
    });
    await untilCollected(() => abandoned.length > 0);
  });

  test("when its id was chosen by the caller, who can still unlock by it", async () => {
    const world = open();
    const abandoned = recorded(events.leaseAbandoned);
    const lock = world.holdfast.getLock("a");
    const forgetChosen = async () => {
      expect((await lock.lock({ threadId: 7 })).state).toBe("held");
    };
    await forgetChosen();
    await bodyThatCollects(world);
    expect(abandoned).toEqual([]);
    await lock.unlock(7);
  });

  test("while its release is under way", async () => {
    const { holdfast, driver, server } = open();
    const abandoned = recorded(events.leaseAbandoned);
    const { opened, open: answer } = gate();
    const slow = {
      name: "answered slowly",
      meet: async <T>(deliver: () => Promise<T>) => {
        const reply = await deliver();
        await opened;
        return reply;
      },
    };
    void driver.next(slow, "lock-release");
    const release = async () => (await holdfast.getLock("a").lock()).unlock();
    const released = release();
    await collectAll();
    answer();
    await released;
    expect(abandoned).toEqual([]);
    expect(server.dump()).toEqual({});
  });
});
