import { describe, expect, test } from "vitest";
import type { LockState } from "../../src/locks/inspect.js";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import { deliverTwice, loseReply, rejectAtOnce } from "../support/faults/call-faults.js";
import { gate } from "../support/run/gate.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";
import { FOREIGN, heldByJvm } from "../support/worlds/foreign-holder.js";

watchLeaks();
const open = fakeTime();

/** What was seen of the lock "a" by a client that has nothing to do with it. */
function seen(time: FakeTime): Promise<LockState> {
  return time.connect().holdfast.inspect("a");
}

/** The counter of a fenced lock stays for ever. */
function forgetTokens({ server }: FakeTime): void {
  server.command("DEL", "redisson_lock_token:{a}");
}

const takers = [
  ["lock", (time: FakeTime) => time.holdfast.getLock("a")],
  ["lock", (time: FakeTime) => time.holdfast.getNonReentrantLock("a")],
  ["lock", (time: FakeTime) => time.holdfast.getFairLock("a")],
  ["lock", (time: FakeTime) => time.holdfast.getSpinLock("a")],
  ["fenced-lock", (time: FakeTime) => time.holdfast.getFencedLock("a")],
  ["read-write-lock", (time: FakeTime) => time.holdfast.getReadWriteLock("a").readLock()],
  ["read-write-lock", (time: FakeTime) => time.holdfast.getReadWriteLock("a").writeLock()],
] as const;

describe.each(takers)("a lock that is seen as a %s", (kind, lockOf) => {
  test("is freed from its holder, and answered as absent after that", async () => {
    const time = open();
    const lease = await lockOf(time).lock();
    const state = await seen(time);
    expect(state.kind).toBe(kind);
    const { holdfast } = time.connect();
    expect(await holdfast.forceUnlock(state)).toBe("released");
    expect(time.fields("a")).toEqual({});
    expect(await holdfast.forceUnlock(state)).toBe("absent");
    await expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
    forgetTokens(time);
  });

  test("is left to its next holder", async () => {
    const time = open();
    const lease = await lockOf(time).lock();
    const state = await seen(time);
    await lease.unlock();
    const next = await lockOf({ ...time, ...time.connect() }).lock();
    expect(await time.holdfast.forceUnlock(state)).toBe("changed");
    await next.unlock();
    forgetTokens(time);
  });

  test("is told at once to the leases of the client that frees it", async () => {
    const time = open();
    const lease = await lockOf(time).lock();
    expect(await time.holdfast.forceUnlock(await time.holdfast.inspect("a"))).toBe("released");
    expect([lease.state, lease.signal.reason]).toMatchObject(["lost", { reason: "stolen" }]);
    forgetTokens(time);
  });

  test("is answered as released when the answer got lost, whether it has another holder since or none", async () => {
    for (const isTaken of [false, true]) {
      const time = open();
      await lockOf(time).lock();
      const state = await seen(time);
      const { holdfast, driver } = time.connect();
      const other = lockOf({ ...time, ...time.connect() });
      let next: Awaited<ReturnType<typeof other.lock>> | undefined;
      const lostMeanwhileTaken: CallFault = {
        name: "answer lost, and the lock taken by another",
        async meet(deliver, itself) {
          await deliver();
          if (isTaken) next = await other.lock();
          return loseReply.meet(async () => null, itself);
        },
      };
      void driver.next(
        lostMeanwhileTaken,
        state.kind.startsWith("read") ? "read-write-force-unlock" : "fair-force-unlock",
      );
      const forced = watched(holdfast.forceUnlock(state));
      await time.clock.advance(1_000);
      expect(forced.outcome).toEqual({ value: "released" });
      await next?.unlock();
      forgetTokens(time);
    }
  });

  test("is answered as changed when the command did not arrive before its holder released it and another one took it", async () => {
    const time = open();
    const lease = await lockOf(time).lock();
    const state = await seen(time);
    const { holdfast, driver } = time.connect();
    const other = lockOf({ ...time, ...time.connect() });
    const refusedMeanwhileTaken: CallFault = {
      name: "refused by the server, after the lock was entered by another",
      async meet(deliver) {
        await lease.unlock();
        await other.lock();
        return deliver();
      },
    };
    void driver.next(
      refusedMeanwhileTaken,
      state.kind.startsWith("read") ? "read-write-force-unlock" : "fair-force-unlock",
    );
    expect(await holdfast.forceUnlock(state)).toBe("changed");
    expect(Object.keys(time.fields("a"))).not.toEqual([]);
    await other.forceUnlock();
    forgetTokens(time);
  });
});

describe("forceUnlock of what was seen", () => {
  test("frees nothing from a holder that has entered once more since", async () => {
    const time = open();
    const lease = await time.holdfast.getLock("a").lock();
    const state = await seen(time);
    const inner = await time.holdfast.getLock("a").lock({ threadId: lease.threadId });
    expect(await time.connect().holdfast.forceUnlock(state)).toBe("changed");
    expect(await time.connect().holdfast.forceUnlock(await seen(time))).toBe("released");
    expect(time.fields("a")).toEqual({});
    await expect(inner.unlock()).rejects.toThrow();
  });

  test("frees nothing where one of several readers is another one by now", async () => {
    const time = open();
    const read = ({ holdfast }: Pick<FakeTime, "holdfast">) =>
      holdfast.getReadWriteLock("a").readLock().lock();
    const [one, other] = [await read(time), await read(time.connect())];
    const state = await seen(time);
    await other.unlock();
    const third = await read(time.connect());
    expect(await time.connect().holdfast.forceUnlock(state)).toBe("changed");
    await one.unlock();
    await third.unlock();
    expect(time.server.dump()).toEqual({});
  });

  test("frees a writer with its own reads, and readers with the keys of their holds", async () => {
    const time = open();
    const pair = time.holdfast.getReadWriteLock("a");
    const write = await pair.writeLock().lock();
    await pair.readLock().lock({ threadId: write.threadId });
    expect((await seen(time)).holders).toHaveLength(2);
    expect(await time.connect().holdfast.forceUnlock(await seen(time))).toBe("released");
    expect(time.server.dump()).toEqual({});
    await pair.readLock().lock();
    expect(await time.connect().holdfast.forceUnlock(await seen(time))).toBe("released");
    expect(time.server.dump()).toEqual({});
  });

  test("passes a fair lock on to a waiter that came after the look", async () => {
    const time = open();
    await time.holdfast.getFairLock("a").lock();
    const state = await seen(time);
    expect(state).toMatchObject({ kind: "lock", queue: [] });
    const waiting = watched(time.connect().holdfast.getFairLock("a").lock());
    await time.clock.advance(10);
    expect(await time.connect().holdfast.forceUnlock(state)).toBe("released");
    await time.clock.advance(1);
    expect(waiting.outcome).toHaveProperty("value");
    await time.holdfast.getFairLock("a").forceUnlock();
  });

  test("tells the waiters of a lock without a queue", async () => {
    const time = open();
    await time.holdfast.getLock("a").lock();
    const waiting = watched(time.connect().holdfast.getLock("a").lock());
    await time.clock.advance(10);
    expect(await time.connect().holdfast.forceUnlock(await seen(time))).toBe("released");
    await time.clock.advance(1);
    expect(waiting.outcome).toHaveProperty("value");
    await time.holdfast.getLock("a").forceUnlock();
  });

  test("frees a lock that a JVM holds, and cannot tell a later hold of the same thread from it", async () => {
    const time = open();
    heldByJvm(time, 30_000);
    const state = await seen(time);
    time.server.command("DEL", "a");
    heldByJvm(time, 30_000);
    expect(time.fields("a")).toEqual({ [FOREIGN]: "1" });
    expect(await time.holdfast.forceUnlock(state)).toBe("released");
  });

  test("cannot tell a later hold of the same chosen id from the one that was seen", async () => {
    const time = open();
    const lock = time.holdfast.getLock("a");
    await lock.lock({ threadId: 7 });
    const state = await seen(time);
    await lock.unlock(7);
    const later = await lock.lock({ threadId: 7 });
    expect(await time.connect().holdfast.forceUnlock(state)).toBe("released");
    await expect(later.unlock()).rejects.toThrow();
  });

  test("takes the lock from the call to which it was handed on, which learns it from its next command", async () => {
    const time = open();
    const lock = time.holdfast.getLock("a");
    const [first, second] = [await lock.lock(), watched(lock.lock())];
    await time.clock.advance(0);
    const state = await seen(time);
    const freed = gate();
    const late: CallFault = {
      name: "freed before the successor is stored",
      async meet(deliver) {
        expect(await time.connect().holdfast.forceUnlock(state)).toBe("released");
        freed.open();
        return deliver();
      },
    };
    void time.driver.next(late, "lock-succeed");
    await first.unlock();
    await freed.opened;
    await time.clock.advance(100);
    expect(second.outcome).toMatchObject({ value: { state: "lost" } });
  });

  test("frees a key that was left behind for a while, as any holder", async () => {
    const time = open();
    const kept = `${time.holdfast.clientId}:0`;
    time.server.command("HSET", "a", kept, 1);
    time.server.command("PEXPIRE", "a", 5_000);
    expect(await seen(time)).toMatchObject({ kept: true, holders: [kept] });
    expect(await time.holdfast.forceUnlock(await seen(time))).toBe("released");
  });

  test("goes by the key of the state, whatever a name mapper makes of its name", async () => {
    const time = open({ nameMapper: (name) => `app:${name}` });
    await time.holdfast.getLock("a").lock();
    const state = await time.holdfast.inspect("a");
    expect(state).toMatchObject({ name: "a", key: "app:a" });
    expect(await time.holdfast.forceUnlock(state)).toBe("released");
    expect(time.fields("app:a")).toEqual({});
  });

  test("of a free lock is absent, or changed once it is held; nothing is freed", async () => {
    const time = open();
    const state = await seen(time);
    expect(state.kind).toBe("none");
    expect(await time.holdfast.forceUnlock(state)).toBe("absent");
    const { holdfast, driver } = time.connect();
    const lease = await time.holdfast.getLock("a").lock();
    expect(await holdfast.forceUnlock(state)).toBe("changed");
    void driver.next(deliverTwice, "fair-force-unlock");
    expect(await holdfast.forceUnlock(state)).toBe("changed");
    await lease.unlock();
    void driver.next(deliverTwice, "fair-force-unlock");
    expect(await holdfast.forceUnlock(state)).toBe("absent");
  });

  test("of a holder that is gone when the command comes a second time is released, as the first one may have done it", async () => {
    const time = open();
    await time.holdfast.getLock("a").lock();
    const state = await seen(time);
    const { holdfast, driver } = time.connect();
    void driver.next(rejectAtOnce, "fair-force-unlock");
    const forced = watched(holdfast.forceUnlock(state));
    await time.clock.advance(0);
    await time.holdfast.getLock("a").forceUnlock();
    await time.clock.advance(1_000);
    expect(forced.outcome).toEqual({ value: "released" });
  });

  test("is given up when each of its commands comes too late", async () => {
    const time = open();
    const lease = await time.holdfast.getLock("a").lock();
    const state = await seen(time);
    const { holdfast, driver } = time.connect();
    const tooLate: CallFault = {
      name: "late",
      async meet() {
        void driver.next(tooLate, "fair-force-unlock");
        return [time.clock.wallMs(), ["late"]];
      },
    };
    void driver.next(tooLate, "fair-force-unlock");
    await expect(holdfast.forceUnlock(state)).rejects.toMatchObject({
      code: "ERR_HOLDFAST_UNAVAILABLE",
      outcomeUnknown: false,
    });
    await lease.unlock();
  });

  test("rejects where the key holds something else by now, and after close", async () => {
    const time = open();
    const state = await seen(time);
    time.server.command("SET", "a", "x", "PX", 1_000);
    await expect(time.holdfast.forceUnlock(state)).rejects.toMatchObject({ code: "ERR_HOLDFAST_WRONG_TYPE" });
    await time.holdfast.close();
    await expect(time.holdfast.forceUnlock(state)).rejects.toMatchObject({ code: "ERR_HOLDFAST_CLOSED" });
  });

  test.each<[string, (state: LockState) => unknown, RegExp]>([
    ["nothing", () => undefined, /a lock state.*inspect\(name\).*undefined/],
    ["a name", () => "a", /a lock state.*"a"/],
    ["a boolean of lock.forceUnlock", () => true, /a lock state.*true/],
    ["a state without a name", ({ name: _, ...rest }) => rest, /name is a string/],
    ["a state without a key", ({ key: _, ...rest }) => rest, /key is a string/],
    ["a state of no kind", (state) => ({ ...state, kind: "mutex" }), /kind none, lock.*"mutex"/],
    [
      "the state of a semaphore",
      (state) => ({ ...state, kind: "semaphore-or-latch" }),
      /"semaphore-or-latch"/,
    ],
    [
      "the state of leased permits",
      (state) => ({ ...state, kind: "permit-expirable-semaphore" }),
      /"permit-expirable-semaphore"/,
    ],
    ["a state without holders", (state) => ({ ...state, holders: "me" }), /array of strings.*"me"/],
    ["a state with other holders", (state) => ({ ...state, holders: [1] }), /array of strings/],
    ["a state without counts", (state) => ({ ...state, holdCounts: null }), /holdCounts are an object/],
    ["a state that lacks a count", (state) => ({ ...state, holdCounts: {} }), /each of 1 holders.*0/],
    [
      "a state with a count of another holder",
      (state) => ({ ...state, holdCounts: { other: 1 } }),
      /whole number for each holder/,
    ],
    [
      "a state with a count that is none",
      (state) => ({ ...state, holdCounts: Object.fromEntries(state.holders.map((holder) => [holder, 0.5])) }),
      /whole number for each holder.*0\.5/,
    ],
    [
      "a hash of something else",
      (state) => ({ ...state, holders: ["sku1"], holdCounts: { sku1: 2 } }),
      /holders of locks, <client id>:<thread id>.*"sku1"/,
    ],
  ])("is a TypeError that says what is needed: %s", async (_, change, message) => {
    const time = open();
    const lease = await time.holdfast.getLock("a").lock();
    const wrong = change(await seen(time)) as LockState;
    const before = time.driver.names.length;
    const forced = time.holdfast.forceUnlock(wrong);
    await expect(forced).rejects.toThrow(TypeError);
    await expect(forced).rejects.toThrow(message);
    expect(time.driver.names).toHaveLength(before);
    await lease.unlock();
  });

  test("is an InvalidNameError where no key can be so", async () => {
    const time = open();
    const state = await seen(time);
    await expect(time.holdfast.forceUnlock({ ...state, key: "" })).rejects.toMatchObject({
      code: "ERR_HOLDFAST_INVALID_NAME",
    });
  });
});
