import { describe, expect, test } from "vitest";
import { NotHeldError } from "../../src/errors.js";
import type { FakeClock } from "../../src/memory/index.js";
import type { CallFault, ScriptedDriver } from "../support/drivers/scripted-driver.js";
import { answerLate, deliverLate, neverDeliver, rejectAtOnce } from "../support/faults/call-faults.js";
import { gate } from "../support/run/gate.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();
const open = fakeTime();

test.each([
  ["of this client", true],
  ["of another client", false],
])(
  "forceUnlock whose command got lost frees what a holder %s has entered again by its repeat",
  async (_, own) => {
    const time = open();
    const holder = own ? time.holdfast : time.connect().holdfast;
    const lock = holder.getLock("a");
    const lease = await lock.lock();
    const lostMeanwhileEntered: CallFault = {
      name: "lost, and the lock entered once more",
      async meet(deliver, driver) {
        await lock.lock({ threadId: lease.threadId });
        return rejectAtOnce.meet(deliver, driver);
      },
    };
    void time.driver.next(lostMeanwhileEntered, "lock-force-unlock");
    const forced = watched(time.holdfast.getLock("a").forceUnlock());
    await time.clock.advance(1_000);
    expect([forced.outcome, time.fields("a")]).toEqual([{ value: true }, {}]);
  },
);

test("forceUnlock whose answer got lost tells the holder in this client, though somebody else is in by its repeat", async () => {
  const time = open();
  const lease = await time.holdfast.getLock("a").lock();
  const other = time.connect().holdfast.getLock("a");
  const lostMeanwhileTaken: CallFault = {
    name: "answer lost, and the lock taken by another",
    async meet(deliver, driver) {
      await deliver();
      await other.lock({ threadId: 7 });
      return rejectAtOnce.meet(deliver, driver);
    },
  };
  void time.driver.next(lostMeanwhileTaken, "lock-force-unlock");
  const forced = watched(time.holdfast.getLock("a").forceUnlock());
  await time.clock.advance(1_000);
  expect([forced.outcome, lease.state]).toEqual([{ value: true }, "lost"]);
  expect(await other.isHeldByThread(7)).toBe(true);
  await other.unlock(7);
});

test("forceUnlock is known to a call of its client that was given the lock before, and is answered after it [own-37]", async () => {
  const time = open();
  const lock = time.holdfast.getLock("a");
  const late = gate();
  const answeredLate: CallFault = {
    name: "answered late",
    async meet(deliver) {
      const answer = await deliver();
      await late.opened;
      return answer;
    },
  };
  void time.driver.next(answeredLate, "lock-acquire");
  const asking = watched(lock.lock());
  await time.clock.advance(1);
  expect(await lock.forceUnlock()).toBe(true);
  const lease = await time.connect().holdfast.getLock("a").lock();
  late.open();
  await time.clock.advance(100);
  expect(asking.outcome).toBeUndefined();
  await lease.unlock();
  await time.clock.advance(0);
  expect(asking.outcome).toMatchObject({ value: { state: "held" } });
});

/** The lock is looked at on one server, and asked for on another one, which has other holders; so often at most. */
function elsewhere(driver: ScriptedDriver, clock: FakeClock, asked: { count: number }): CallFault {
  const fault: CallFault = {
    name: "freed on a server that has another lock",
    async meet(deliver) {
      asked.count += 1;
      // A busy loop is to end.
      if (asked.count > 1_000) return deliver();
      void driver.next(fault, "lock-force-unlock");
      return [clock.wallMs(), ["changed"]];
    },
  };
  return fault;
}

describe("a stay that begins under a chosen id while its client frees that field by force", () => {
  const ways: readonly (readonly [string, (time: FakeTime) => Promise<() => Promise<unknown>>])[] = [
    [
      "forceUnlock()",
      async ({ holdfast }) =>
        () =>
          holdfast.getLock("a").forceUnlock(),
    ],
    [
      "forceUnlock(seen)",
      async ({ holdfast }) => {
        const seen = await holdfast.inspect("a");
        return () => holdfast.forceUnlock(seen);
      },
    ],
  ];

  /** The command that frees the field has met a fault. */
  async function freeing(way: (typeof ways)[number][1], fault: CallFault) {
    const time = open();
    const lock = time.holdfast.getLock("a");
    await lock.lock({ threadId: 7 });
    const free = await way(time);
    const met = time.driver.next(fault, ({ script }) => script.name.endsWith("force-unlock"));
    const forced = watched(free());
    await met;
    await time.clock.advance(1);
    return { time, lock, forced };
  }

  test.each(ways)("%s: is lost when the command comes after it [own-78]", async (_, way) => {
    const late = deliverLate();
    const { time, lock, forced } = await freeing(way, late);
    await lock.unlock(7);
    const lease = await lock.lock({ threadId: 7 });
    await late.arrive();
    await time.clock.advance(0);
    expect(forced.outcome).toHaveProperty("value");
    expect([time.fields("a"), lease.state]).toEqual([{}, "lost"]);
  });

  test.each(ways)(
    "%s: goes on when it has begun after the command, whose answer comes late [own-78]",
    async (_, way) => {
      const late = answerLate();
      const { time, lock, forced } = await freeing(way, late);
      await expect(lock.unlock(7)).rejects.toThrow(NotHeldError);
      const lease = await lock.lock({ threadId: 7 });
      late.arrive();
      await time.clock.advance(0);
      expect(forced.outcome).toHaveProperty("value");
      expect([lease.state, await lock.isHeldByThread(7)]).toEqual(["held", true]);
      await lease.unlock();
      expect(time.fields("a")).toEqual({});
    },
  );

  test.each(ways)("%s: is not believed when Redis can not be asked about it [own-78]", async (_, way) => {
    const late = deliverLate();
    const { time, lock, forced } = await freeing(way, late);
    await lock.unlock(7);
    const lease = await lock.lock({ threadId: 7 });
    for (let nth = 0; nth < 10; nth += 1) void time.driver.next(rejectAtOnce, "lock-inspect");
    await late.arrive();
    // No renewal has told it by then.
    await time.clock.advance(5_000);
    expect(forced.outcome).toHaveProperty("value");
    expect(lease.state).toBe("lost");
  });

  test.each(ways)(
    "%s: is lost, and what has freed it is told so, when the client closes before Redis has answered",
    async (_, way) => {
      const late = deliverLate();
      const { time, lock, forced } = await freeing(way, late);
      await lock.unlock(7);
      const lease = await lock.lock({ threadId: 7 });
      void time.driver.next(neverDeliver, "lock-inspect");
      await late.arrive();
      await time.clock.advance(0);
      const closed = time.holdfast.close({ graceMs: 0, releaseHeld: false });
      await time.clock.advance(10_000);
      await closed;
      expect(lease.state).toBe("lost");
      expect(forced.outcome).toHaveProperty("value");
    },
  );
});

test("forceUnlock of what one server has and another one frees, as amid a failover, is tried now and then [own-64]", async () => {
  const time = open();
  const lease = await time.holdfast.getLock("a").lock();
  const asked = { count: 0 };
  void time.driver.next(elsewhere(time.driver, time.clock, asked), "lock-force-unlock");
  const forced = watched(time.holdfast.getLock("a").forceUnlock());
  await time.clock.advance(10_000);
  expect(forced.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_UNAVAILABLE" } });
  // Five pauses up to 31 ms, then one each 32 ms of the command timeout.
  expect(asked.count).toBeGreaterThan(5);
  expect(asked.count).toBeLessThan(100);
  await lease.unlock();
});

test("forceUnlock that pauses between its tries ends with its client, and does not hold it up", async () => {
  const time = open();
  const lease = await time.connect().holdfast.getLock("a").lock();
  void time.driver.next(elsewhere(time.driver, time.clock, { count: 0 }), "lock-force-unlock");
  const forced = watched(time.holdfast.getLock("a").forceUnlock());
  await time.clock.advance(500);
  expect(forced.outcome).toBeUndefined();
  const closed = watched(time.holdfast.close());
  await time.clock.advance(100);
  expect(closed.outcome).toEqual({ value: undefined });
  expect(forced.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_CLOSED" } });
  await lease.unlock();
});
