import { describe, expect, test, vi } from "vitest";
import { reconcile } from "../../src/locks/reconciler.js";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import { deliverTwice, neverDeliver } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { fakeTime } from "../support/worlds/fake-time.js";
import { full, gapsOf, identityOf, refuse, stayOf } from "../support/worlds/stays.js";

watchLeaks();
const open = fakeTime();

const COMMAND_MS = 3_000;
const LEASE_MS = 60_000;
/** A client that relies on its clock this little trusts its leases for half of their time: Redis has the field for as long again. */
const WARY = { clockSkewMs: LEASE_MS / 2 };
/** The pauses of a release that fails. */
const [PAUSE_MS, NEXT_PAUSE_MS] = [500, 1_000];

/** A lease is lost, and Redis still has its field. */
async function lostLease({ threadId }: { readonly threadId?: number } = {}) {
  const time = open(WARY);
  const lock = time.holdfast.getLock("a");
  const lease = await lock.lock({ leaseMs: LEASE_MS, ...(threadId === undefined ? {} : { threadId }) });
  const identity = identityOf(lock);
  const stay = stayOf(identity, lease);
  await time.clock.advance(LEASE_MS / 2 + 1);
  expect([lease.state, time.fields("a")]).toEqual(["lost", { [lease.holder]: "1" }]);
  return { ...time, time, lock, lease, identity, stay };
}

/** The same is given back, and the server refuses that at first. */
async function refused(times: number, options: { readonly threadId?: number } = {}) {
  const lost = await lostLease(options);
  refuse(lost.driver, "lock-release", times);
  reconcile(lost.identity, lost.stay);
  await lost.clock.advance(0);
  expect(lost.driver.timesOf("lock-release")).toHaveLength(1);
  return lost;
}

describe("a lost hold that is given back while another release of its stay is under way", () => {
  /** More than there are from the answer to a release to its end. */
  const MICROTASKS = Array.from({ length: 25 }, (_, count) => count);

  test("is not forgotten, whenever that release is answered", async () => {
    const left: unknown[] = [];
    for (const microtasks of MICROTASKS) left.push(await leftBy(microtasks));
    expect(left).toEqual(MICROTASKS.map(() => ({})));
  });

  async function leftBy(microtasks: number) {
    const { holdfast, clock, driver, fields } = open(WARY);
    const lock = holdfast.getLock("a");
    const outer = await lock.lock({ leaseMs: LEASE_MS });
    const inner = await outer.run(() => lock.lock({ leaseMs: LEASE_MS }));
    await clock.advance(LEASE_MS / 2 - 1);
    const lose = async () => {
      for (let i = 0; i < microtasks; i += 1) await undefined;
      clock.block(2);
      await outer.unlock();
    };
    let lost = watched(Promise.resolve());
    const answered: CallFault = {
      name: "the outer hold is lost after the answer",
      async meet(deliver) {
        const reply = await deliver();
        lost = watched(lose());
        return reply;
      },
    };
    void driver.next(answered, "lock-release");
    await inner.unlock();
    await clock.advance(PAUSE_MS);
    expect(lost.outcome).toMatchObject({ error: { code: "ERR_HOLDFAST_NOT_HELD" } });
    return fields("a");
  }
});

describe("a reason more to reconcile a record", () => {
  test("ends the pause after a failure", async () => {
    const { clock, driver, identity, stay, fields } = await refused(1);
    await clock.advance(PAUSE_MS - 100);
    expect(driver.timesOf("lock-release")).toHaveLength(1);
    reconcile(identity, stay);
    await clock.advance(0);
    expect(gapsOf({ driver }, "lock-release")).toEqual([PAUSE_MS - 100]);
    expect(fields("a")).toEqual({});
  });

  test("begins with the shortest pause again", async () => {
    const { clock, driver, identity, stay } = await refused(3);
    await clock.advance(PAUSE_MS + 100);
    reconcile(identity, stay);
    await clock.advance(NEXT_PAUSE_MS);
    expect(gapsOf({ driver }, "lock-release")).toEqual([PAUSE_MS, 100, PAUSE_MS]);
  });

  test("that comes while a step is under way is followed by no pause", async () => {
    const { clock, driver, identity, stay, fields } = await lostLease();
    const slow: CallFault = {
      name: "refused after a while",
      async meet(deliver, way) {
        await new Promise<void>((resolve) => void clock.schedule(100, resolve));
        return full.meet(deliver, way);
      },
    };
    void driver.next(slow, "lock-release");
    reconcile(identity, stay);
    await clock.advance(50);
    reconcile(identity, stay);
    await clock.advance(50);
    expect(gapsOf({ driver }, "lock-release")).toEqual([100]);
    expect(fields("a")).toEqual({});
  });
});

describe("what asks for the end of a repair", () => {
  test("hears of it at once where nothing is to be repaired", async () => {
    const { clock, identity, stay, lease, driver } = await lostLease();
    await expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
    await clock.advance(0);
    const ended = vi.fn();
    reconcile(identity, stay, {}, ended);
    await clock.advance(0);
    expect([ended.mock.calls, driver.timesOf("lock-release")]).toMatchObject([[[]], { length: 1 }]);
  });

  test("hears of it once Redis has what is wanted, and no copy can change that, each of several once", async () => {
    const { clock, driver, identity, stay } = await lostLease({ threadId: 7 });
    void driver.next(deliverTwice, "lock-release");
    const [first, second] = [vi.fn(), vi.fn()];
    reconcile(identity, stay, {}, first);
    await clock.advance(COMMAND_MS - 100);
    reconcile(identity, stay, {}, second);
    await clock.advance(0);
    expect([first.mock.calls, second.mock.calls]).toEqual([[], []]);
    await clock.advance(2 * COMMAND_MS);
    expect([first.mock.calls, second.mock.calls]).toEqual([[[]], [[]]]);
  });

  test("hears of it once when the repair is given up", async () => {
    const { clock, driver, identity, stay } = await lostLease();
    for (let i = 0; i < 100; i += 1) void driver.next(neverDeliver, "lock-release");
    const ended = vi.fn();
    reconcile(identity, stay, {}, ended);
    await clock.advance(LEASE_MS);
    expect(ended.mock.calls).toEqual([]);
    await clock.advance(3 * COMMAND_MS + 10_000);
    expect(ended.mock.calls).toEqual([[]]);
  });

  test("hears of it once when the client is closed", async () => {
    const { clock, driver, identity, stay, holdfast } = await lostLease();
    for (let i = 0; i < 100; i += 1) void driver.next(neverDeliver, "lock-release");
    const [first, second] = [vi.fn(), vi.fn()];
    reconcile(identity, stay, {}, first);
    reconcile(identity, stay, {}, second);
    const closed = watched(holdfast.close());
    await clock.advance(3 * COMMAND_MS);
    expect([closed.outcome, first.mock.calls, second.mock.calls]).toEqual([{ value: undefined }, [[]], [[]]]);
  });
});

describe("the stay of a record that is reconciled", () => {
  test("is kept while Redis may have something that no hold stands for, and let go once", async () => {
    const { clock, identity, stay } = await refused(2, { threadId: 7 });
    const [kept, settled] = [vi.spyOn(stay, "unsettled"), vi.spyOn(stay, "settled")];
    await clock.advance(PAUSE_MS - 100);
    expect(stay.isIdle).toBe(false);
    reconcile(identity, stay);
    await clock.advance(PAUSE_MS - 100);
    expect([stay.isIdle, settled.mock.calls]).toEqual([false, []]);
    await clock.advance(NEXT_PAUSE_MS);
    expect([stay.isIdle, kept.mock.calls, settled.mock.calls]).toEqual([true, [], [[]]]);
  });

  test("is let go when the repair is given up, and is forgotten", async () => {
    const { clock, driver, identity, stay, lock } = await lostLease();
    for (let i = 0; i < 100; i += 1) void driver.next(neverDeliver, "lock-release");
    const [kept, settled] = [vi.spyOn(stay, "unsettled"), vi.spyOn(stay, "settled")];
    reconcile(identity, stay);
    await clock.advance(LEASE_MS + 3 * COMMAND_MS + 10_000);
    expect([stay.isIdle, kept.mock.calls, settled.mock.calls]).toEqual([true, [[]], [[]]]);
    expect([...identityOf(lock).client.threads.stays()]).toEqual([]);
  });

  test("under a chosen id is over by then, and the next begins at once", async () => {
    const { clock, lock, stay, fields } = await refused(1, { threadId: 7 });
    const next = watched(lock.lock({ threadId: 7 }));
    await clock.advance(PAUSE_MS - 100);
    expect(next.outcome).toBeUndefined();
    await clock.advance(100);
    expect(next.outcome).toMatchObject({ value: { state: "held" } });
    expect([stay.isIdle, Object.values(fields("a"))]).toEqual([true, ["1"]]);
    if (next.outcome !== undefined && "value" in next.outcome) await next.outcome.value.unlock();
    expect(fields("a")).toEqual({});
  });
});
