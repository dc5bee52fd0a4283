import { describe, expect, test } from "vitest";
import { LeaseLostError, NotHeldError, UnavailableError } from "../../src/errors.js";
import type { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import type { Lock } from "../../src/locks/lock.js";
import {
  answerLate,
  deliverLate,
  deliverTwice,
  loseReply,
  neverDeliver,
  swallowReply,
} from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";
import { arrived, got, microtasks, scenes } from "../support/worlds/hand-off-scene.js";

watchLeaks();
const open = fakeTime();
const scene = scenes(open);

const KEY = "order:7";
const COMMAND_MS = 3_000;
/** What is taken off a lease: 2 ms and 1 %. */
const trustedMs = (leaseMs: number) => leaseMs - 2 - leaseMs / 100;

const isRelease = ({ script }: { readonly script: { readonly name: string } }) =>
  script.name.endsWith("-release");

/** No lease may be believed for longer than Redis keeps its lock. */
function expectKept({ ttlMs }: FakeTime, lease: Lease, key = KEY): void {
  expect(lease.remainingMs()).toBeLessThanOrEqual(Math.max(ttlMs(key), 0));
}

const single: readonly [string, (client: Holdfast) => Lock][] = [
  ["a lock", (client) => client.getLock(KEY)],
  ["a non-reentrant lock", (client) => client.getNonReentrantLock(KEY)],
  ["a spin lock", (client) => client.getSpinLock(KEY)],
  ["a fenced lock", (client) => client.getFencedLock(KEY)],
  ["a fair lock", (client) => client.getFairLock(KEY)],
  ["a read lock", (client) => client.getReadWriteLock(KEY).readLock()],
  ["a write lock", (client) => client.getReadWriteLock(KEY).writeLock()],
];

describe.each(single)("the fixed lease of %s", (kind, lockOf) => {
  test("is longer, or shorter, from the moment on at which it is set anew", async () => {
    const time = open();
    const lease = await lockOf(time.holdfast).lock({ leaseMs: 10_000 });
    await time.clock.advance(4_000);
    time.driver.sent.length = 0;
    await lease.extend(20_000);
    expect([time.ttlMs(KEY), lease.remainingMs()]).toEqual([20_000, trustedMs(20_000)]);
    expect(time.driver.sent).toHaveLength(1);
    await time.clock.advance(4_000);
    await lease.extend(1_000);
    expect([time.ttlMs(KEY), lease.remainingMs()]).toEqual([1_000, trustedMs(1_000)]);
    await time.clock.advance(987);
    expect(lease.state).toBe("held");
    await time.clock.advance(1);
    expect([lease.state, lease.signal.reason]).toMatchObject(["lost", { reason: "expired" }]);
    await time.clock.advance(20);
    expect(await lockOf(time.holdfast).isLocked()).toBe(false);
    if (kind === "a fenced lock") time.server.flush();
  });

  test("that is found to be gone is told as lost", async () => {
    const time = open();
    const lease = await lockOf(time.holdfast).lock({ leaseMs: 10_000 });
    time.server.flush();
    await expect(lease.extend(20_000)).rejects.toThrow(LeaseLostError);
    expect([lease.state, lease.signal.reason]).toMatchObject(["lost", { reason: "stolen" }]);
  });

  test("whose outcome is not known is trusted for the shorter time, until it was written once more", async () => {
    const time = open();
    const lease = await lockOf(time.holdfast).lock({ leaseMs: 60_000 });
    void time.driver.next(swallowReply, isRelease);
    const extended = watched(lease.extend(10_000));
    await time.clock.advance(0);
    expectKept(time, lease);
    await time.clock.advance(COMMAND_MS);
    expect(extended.outcome).toMatchObject({ error: { outcomeUnknown: true } });
    expect((extended.outcome as { error: unknown }).error).toBeInstanceOf(UnavailableError);
    expect(lease.remainingMs()).toBeCloseTo(trustedMs(10_000) - COMMAND_MS, 3);
    await time.clock.advance(COMMAND_MS);
    expect(lease.remainingMs()).toBeCloseTo(trustedMs(60_000) - 2 * COMMAND_MS, 3);
    expectKept(time, lease);
    await lease.unlock();
    await time.clock.advance(0);
    if (kind === "a fenced lock") time.server.flush();
    expect(time.server.dump()).toEqual({});
  });
});

describe("what can not be extended", () => {
  test("is a lease that the watchdog renews", async () => {
    const { holdfast } = open();
    const joint = await holdfast.getMultiLock(holdfast.getLock("a"), holdfast.getLock("b")).lock();
    const capped = await holdfast.getLock("c").lock({ maxHoldMs: 5_000 });
    for (const lease of [await holdfast.getLock(KEY).lock(), joint, capped]) {
      await expect(lease.extend(1_000)).rejects.toThrow(TypeError);
      await expect(lease.extend(1_000)).rejects.toThrow("is renewed by the watchdog");
      await lease.unlock();
    }
  });

  test.each([
    [undefined, TypeError, "leaseMs must be a number of milliseconds"],
    ["5", TypeError, 'leaseMs must be a number of milliseconds, got "5"'],
    [0, RangeError, "leaseMs must be a whole number of milliseconds from 1"],
    [1.5, RangeError, "leaseMs must be a whole number of milliseconds from 1"],
    [Number.POSITIVE_INFINITY, RangeError, "leaseMs must be a whole number of milliseconds from 1"],
  ])("is a lease by %s", async (leaseMs, errorClass, message) => {
    const { holdfast } = open();
    const lease = await holdfast.getLock(KEY).lock({ leaseMs: 1_000 });
    const joint = await holdfast
      .getMultiLock(holdfast.getLock("a"), holdfast.getLock("b"))
      .lock({ leaseMs: 9 });
    for (const each of [lease, joint]) {
      const extended = each.extend(leaseMs as number);
      await expect(extended).rejects.toThrow(errorClass);
      await expect(extended).rejects.toThrow(message);
    }
    await lease.unlock();
  });

  test("is a lease that was released, or is lost: nothing is sent", async () => {
    const { holdfast, clock, driver } = open();
    const lock = holdfast.getLock(KEY);
    const released = await lock.lock({ leaseMs: 1_000 });
    await released.unlock();
    const lost = await lock.lock({ leaseMs: 1_000 });
    await clock.advance(1_000);
    driver.sent.length = 0;
    await expect(released.extend(1_000)).rejects.toThrow(NotHeldError);
    await expect(lost.extend(1_000)).rejects.toBe(lost.signal.reason);
    expect(driver.sent).toEqual([]);
  });
});

describe("the longest lease of all holds", () => {
  test("decides when the lock falls, whichever is set anew", async () => {
    const time = open();
    const lock = time.holdfast.getLock(KEY);
    const outer = await lock.lock({ leaseMs: 30_000 });
    const inner = await outer.run(() => lock.lock({ leaseMs: 10_000 }));
    await inner.extend(1_000);
    expect([time.ttlMs(KEY), inner.remainingMs()]).toEqual([30_000, trustedMs(1_000)]);
    await inner.extend(60_000);
    expect([time.ttlMs(KEY), outer.remainingMs()]).toEqual([60_000, trustedMs(30_000)]);
    await outer.extend(5_000);
    expect([time.ttlMs(KEY), time.fields(KEY)]).toEqual([60_000, { [outer.holder]: "2" }]);
    await inner.unlock();
    expect(time.ttlMs(KEY)).toBe(5_000);
    await outer.unlock();
  });

  test("is that of the watchdog, beside a hold that it renews", async () => {
    const time = open({ watchdogMs: 9_000 });
    const lock = time.holdfast.getLock(KEY);
    const outer = await lock.lock();
    const inner = await outer.run(() => lock.lock({ leaseMs: 1_000 }));
    await time.clock.advance(500);
    await inner.extend(2_000);
    expect([time.ttlMs(KEY), outer.remainingMs()]).toEqual([9_000, trustedMs(9_000)]);
    await time.clock.advance(30_000);
    expect([outer.state, inner.state]).toEqual(["held", "lost"]);
    await outer.unlock();
  });
});

describe("an extension and a release", () => {
  test("go one after the other: the lock is free, and its lease was released", async () => {
    const time = open();
    const lease = await time.holdfast.getLock(KEY).lock({ leaseMs: 10_000 });
    const late = answerLate();
    void time.driver.next(late, isRelease);
    const extended = watched(lease.extend(60_000));
    await time.clock.advance(0);
    const released = watched(lease.unlock());
    late.arrive();
    await time.clock.advance(0);
    expect(extended.outcome).toMatchObject({ error: expect.any(NotHeldError) });
    expect([released.outcome, time.fields(KEY)]).toEqual([{ value: undefined }, {}]);
  });

  test("of a lock that was freed by force are both told so [own-73]", async () => {
    const time = open();
    const lease = await time.holdfast.getLock(KEY).lock({ leaseMs: 10_000 });
    time.server.flush();
    const calls = [watched(lease.extend(60_000)), watched(lease.unlock())];
    await time.clock.advance(0);
    expect(calls.map(({ outcome }) => outcome)).toMatchObject([
      { error: expect.any(NotHeldError) },
      {
        error: expect.objectContaining({ code: "ERR_HOLDFAST_NOT_HELD", cause: expect.any(LeaseLostError) }),
      },
    ]);
  });

  test("that keeps the lock, too", async () => {
    const time = open();
    const lease = await time.holdfast.getLock(KEY).lock({ leaseMs: 10_000 });
    const calls = [watched(lease.extend(60_000)), watched(lease.unlock({ keepForMs: 5_000 }))];
    await time.clock.advance(0);
    expect(calls.map(({ outcome }) => outcome)).toMatchObject([
      { error: expect.any(NotHeldError) },
      { value: undefined },
    ]);
    expect([Object.values(time.fields(KEY)), time.ttlMs(KEY)]).toEqual([["1"], 5_000]);
  });

  // The counter of a fenced lock stays behind.
  const unfenced = single.filter(([kind]) => kind !== "a fenced lock");
  test.each(unfenced)(
    "a late copy of the acquisition of %s does not shorten it below what is believed",
    async (_, lockOf) => {
      const time = open();
      const late = deliverLate({ told: true });
      void time.driver.next(late, ({ script }) => script.name.endsWith("-acquire"));
      const taken = watched(lockOf(time.holdfast).lock({ leaseMs: 10_000 }));
      await time.clock.advance(100);
      const lease = got(taken);
      const extended = watched(lease.extend(60_000));
      await time.clock.advance(1);
      expect(extended.outcome).toEqual({ value: undefined });
      await late.arrive();
      expectKept(time, lease);
      await time.clock.advance(COMMAND_MS);
      expectKept(time, lease);
      await arrived(time, watched(lease.unlock()));
    },
  );

  test("a late copy of the extension finds nothing after it", async () => {
    const time = open();
    const lock = time.holdfast.getLock(KEY);
    const lease = await lock.lock({ leaseMs: 10_000 });
    const late = deliverLate({ told: true });
    void time.driver.next(late, isRelease);
    const extended = watched(lease.extend(60_000));
    await time.clock.advance(100);
    expect(extended.outcome).toEqual({ value: undefined });
    await arrived(time, watched(lease.unlock()));
    const next = await lock.lock({ leaseMs: 5_000 });
    await late.arrive();
    expect([time.fields(KEY), time.ttlMs(KEY)]).toEqual([{ [next.holder]: "1" }, 5_000]);
    await next.unlock();
  });
});

describe("a lease that is lost while it is extended", () => {
  test("stays lost, and what the extension has made of it is given back", async () => {
    const time = open();
    const lease = await time.holdfast.getLock(KEY).lock({ leaseMs: 1_000 });
    const late = answerLate();
    void time.driver.next(late, isRelease);
    const extended = watched(lease.extend(60_000));
    await time.clock.advance(1_500);
    expect(lease.state).toBe("lost");
    late.arrive();
    await time.clock.advance(100);
    expect(extended.outcome).toMatchObject({ error: { reason: "expired" } });
    expect(time.fields(KEY)).toEqual({});
  });
});

describe("two extensions", () => {
  test("of one hold go one after the other, and the later one counts", async () => {
    const time = open();
    const lease = await time.holdfast.getLock(KEY).lock({ leaseMs: 10_000 });
    const late = answerLate();
    void time.driver.next(late, isRelease);
    const calls = [watched(lease.extend(60_000)), watched(lease.extend(5_000))];
    await time.clock.advance(1_000);
    expectKept(time, lease);
    late.arrive();
    await time.clock.advance(0);
    expect(calls.map(({ outcome }) => outcome)).toEqual([{ value: undefined }, { value: undefined }]);
    expect([time.ttlMs(KEY), lease.remainingMs()]).toEqual([5_000, trustedMs(5_000)]);
  });

  test.each([
    [60_000, 5_000],
    [5_000, 60_000],
  ])(
    "of %i and of %i ms, and the first has no answer, but is carried out after the second [P3-2]",
    async (first, second) => {
      const time = open({ commandTimeoutMs: 1_000 });
      const lease = await time.holdfast.getLock(KEY).lock({ leaseMs: 20_000 });
      const late = deliverLate({ told: true });
      void time.driver.next(late, isRelease);
      void time.driver.next(loseReply, isRelease);
      const calls = [watched(lease.extend(first)), watched(lease.extend(second))];
      await time.clock.advance(100);
      expect(calls.map(({ outcome }) => outcome)).toEqual([{ value: undefined }, { value: undefined }]);
      await late.arrive();
      expectKept(time, lease);
      await time.clock.advance(3_000);
      expectKept(time, lease);
      expect(lease.remainingMs()).toBeGreaterThan(trustedMs(second) - 3_200);
      await lease.unlock();
    },
  );

  test("a copy of an inner release shortens neither of them below what is believed [P3-2]", async () => {
    const time = open();
    const lock = time.holdfast.getLock(KEY);
    const outer = await lock.lock({ leaseMs: 10_000 });
    const inner = await outer.run(() => lock.lock({ leaseMs: 10_000 }));
    await time.clock.advance(5_000);
    const late = deliverLate({ told: true });
    void time.driver.next(late, isRelease);
    const released = watched(inner.unlock());
    await time.clock.advance(100);
    expect(released.outcome).toEqual({ value: undefined });
    await arrived(time, watched(outer.extend(60_000)));
    await late.arrive();
    expectKept(time, outer);
    await time.clock.advance(COMMAND_MS);
    expect(time.ttlMs(KEY)).toBeGreaterThan(56_000);
    expect(outer.remainingMs()).toBeGreaterThan(56_000);
    expectKept(time, outer);
    await outer.unlock();
  });
});

describe("an extension of which a command", () => {
  test.each([
    ["loses its reply", loseReply],
    ["is sent twice", deliverTwice],
  ])("%s succeeds", async (_, fault) => {
    const time = open();
    const lease = await time.holdfast.getLock(KEY).lock({ leaseMs: 5_000 });
    void time.driver.next(fault, isRelease);
    const extended = watched(lease.extend(10_000));
    await time.clock.advance(100);
    expect(extended.outcome).toEqual({ value: undefined });
    expect(lease.remainingMs()).toBeGreaterThan(9_700);
    expectKept(time, lease);
    await lease.unlock();
  });

  test("never arrives leaves the lease as it was, and so it can be extended again", async () => {
    const time = open();
    const lease = await time.holdfast.getLock(KEY).lock({ leaseMs: 20_000, threadId: 7 });
    void time.driver.next(neverDeliver, isRelease);
    const extended = watched(lease.extend(60_000));
    await time.clock.advance(COMMAND_MS);
    expect(extended.outcome).toMatchObject({ error: { outcomeUnknown: true } });
    await arrived(time, watched(lease.extend(60_000)));
    expectKept(time, lease);
    await time.clock.advance(COMMAND_MS);
    expect(lease.remainingMs()).toBeGreaterThan(55_000);
    await lease.unlock();
  });
});

describe("a hold that Redis does not know as its own yet", () => {
  test("was handed over: its extension waits until it is named", async () => {
    const { time, holder, waiting } = await scene([{ leaseMs: 3_600_000 }], {}, { leaseMs: 3_600_000 });
    const late = answerLate();
    void time.driver.next(late, "lock-succeed");
    void holder.unlock();
    await microtasks();
    const lease = got(waiting[0]);
    const extended = watched(lease.extend(10_000));
    await time.clock.advance(100);
    expect([extended.outcome, time.driver.names.includes("lock-release")]).toEqual([undefined, false]);
    late.arrive();
    await time.clock.advance(0);
    expect([extended.outcome, time.ttlMs("order:7")]).toEqual([{ value: undefined }, 10_000]);
    await lease.unlock();
  });

  test("was granted: its extension writes its lease", async () => {
    const time = open();
    const lock = time.holdfast.getFairLock(KEY);
    const first = await lock.lock();
    const waiting = watched(lock.lock({ leaseMs: 60_000 }));
    await time.clock.advance(10);
    await arrived(time, watched(first.unlock()));
    const lease = await arrived(time, waiting);
    await lease.extend(20_000);
    expect([time.ttlMs(KEY), lease.remainingMs()]).toEqual([20_000, trustedMs(20_000)]);
    await time.clock.advance(10_000);
    expect(lease.state).toBe("held");
    await lease.unlock();
  });
});

describe("the lease of several locks as one", () => {
  const names = ["a", "b", "c"];

  test("of a multi lock is extended with all of them", async () => {
    const time = open();
    const lock = time.holdfast.getMultiLock(...names.map((name) => time.holdfast.getLock(name)));
    const lease = await lock.lock({ leaseMs: 5_000 });
    await lease.extend(10_000);
    expect(names.map((name) => time.ttlMs(name))).toEqual([10_000, 10_000, 10_000]);
    expect(lease.remainingMs()).toBe(trustedMs(10_000));
    void time.driver.next(neverDeliver, isRelease);
    const extended = watched(lease.extend(20_000));
    await time.clock.advance(COMMAND_MS);
    expect(extended.outcome).toMatchObject({ error: { outcomeUnknown: true } });
    for (const name of names) expectKept(time, lease, name);
    await lease.unlock();
    await expect(lease.extend(1_000)).rejects.toThrow(NotHeldError);
  });

  test("of a red lock is extended as soon as a majority is", async () => {
    const time = open();
    const lock = time.holdfast.getRedLock(...names.map((name) => time.holdfast.getLock(name)));
    const lease = await lock.lock({ leaseMs: 5_000 });
    void time.driver.next(neverDeliver, isRelease);
    const extended = watched(lease.extend(10_000));
    await time.clock.advance(0);
    expect(extended.outcome).toEqual({ value: undefined });
    expect(lease.remainingMs()).toBe(trustedMs(10_000));
    void time.driver.next(neverDeliver, isRelease);
    void time.driver.next(neverDeliver, isRelease);
    const again = watched(lease.extend(20_000));
    await time.clock.advance(2 * COMMAND_MS);
    expect(again.outcome).toMatchObject({ error: { outcomeUnknown: true } });
    await lease.unlock();
    await time.clock.advance(COMMAND_MS);
  });
});
