import { describe, expect, test } from "vitest";
import { ServerReplyError } from "../../src/driver/driver.js";
import { WaitTimeoutError } from "../../src/errors.js";
import { Holdfast } from "../../src/holdfast.js";
import type { Lease } from "../../src/lease.js";
import type { Lock } from "../../src/locks/lock.js";
import { memoryDriver } from "../../src/memory/index.js";
import { momentsDriver } from "../support/drivers/moments-driver.js";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import { answerLate, answerWith, deliverLate, type LateDelivery } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { type Watched, watched } from "../support/run/watched.js";
import { type FakeTime, type FakeTimeClient, fakeTime } from "../support/worlds/fake-time.js";
import { microtasks } from "../support/worlds/hand-off-scene.js";

watchLeaks();
const open = fakeTime();

const COMMAND_MS = 3_000;
const NAMES = ["a", "b", "c"];

type LockOf = (client: Holdfast) => Lock;

const plain: LockOf = (client) => client.getLock("a");
const fair: LockOf = (client) => client.getFairLock("a");
const multi: LockOf = (client) => client.getMultiLock(...NAMES.map((name) => client.getLock(name)));
const red: LockOf = (client) => client.getRedLock(...NAMES.map((name) => client.getLock(name)));

const stored = ({ server }: FakeTime) => Object.keys(server.dump());

/** A client that knows the server, and whose next acquisition is sent twice: the first copy is held up on its way. */
async function sentTwice(time: FakeTime): Promise<FakeTimeClient & { readonly copy: LateDelivery }> {
  const client = time.connect();
  await client.holdfast.getLock("acquaintance").isLocked();
  const copy = deliverLate({ told: true });
  void client.driver.next(copy, ({ script }) => script.name.endsWith("-acquire"));
  return { ...client, copy };
}

/** The copy comes when the locks are free again, and before its deadline: somebody has to take back what it takes. */
async function expectNoGhost(time: FakeTime, copy: LateDelivery): Promise<void> {
  await copy.arrive();
  expect(stored(time)).not.toEqual([]);
  await time.clock.advance(COMMAND_MS + 100);
  expect(stored(time)).toEqual([]);
}

describe("a copy that arrives after its call has come to nothing", () => {
  test.each<[string, LockOf]>([
    ["a lock", plain],
    ["a fair lock", fair],
    ["a spin lock", (client) => client.getSpinLock("a")],
    ["a read lock", (client) => client.getReadWriteLock("a").readLock()],
    ["a write lock", (client) => client.getReadWriteLock("a").writeLock()],
  ])("takes %s for nobody: its repeat was refused", async (_, lockOf) => {
    const time = open();
    // Which keeps everybody out, whatever kind of lock he asks for.
    const held = await time.holdfast.getReadWriteLock("a").writeLock().lock();
    const { holdfast, copy } = await sentTwice(time);
    const call = watched(lockOf(holdfast).tryLock());
    await time.clock.advance(100);
    expect(call.outcome).toEqual({ value: null });
    await held.unlock();
    await expectNoGhost(time, copy);
  });

  test.each<[string, LockOf, readonly string[]]>([
    ["a multi lock", multi, ["c"]],
    ["a red lock", red, ["a", "b"]],
  ])("takes none of %s: its repeat was refused", async (_, lockOf, busy) => {
    const time = open();
    const held = await Promise.all(busy.map((name) => time.holdfast.getLock(name).lock()));
    const { holdfast, copy } = await sentTwice(time);
    const call = watched(lockOf(holdfast).tryLock());
    await time.clock.advance(300);
    expect(call.outcome).toEqual({ value: null });
    await Promise.all(held.map((lease) => lease.unlock()));
    expect(stored(time)).toEqual([]);
    await expectNoGhost(time, copy);
  });

  test("takes nothing for a wait that has timed out", async () => {
    const time = open();
    const held = await time.holdfast.getLock("a").lock();
    const { holdfast, copy } = await sentTwice(time);
    const call = watched(plain(holdfast).lock({ waitMs: 100 }));
    await time.clock.advance(100);
    expect(call.outcome).toEqual({ error: expect.any(WaitTimeoutError) });
    await held.unlock();
    await expectNoGhost(time, copy);
  });

  test("takes nothing for a call that was cancelled before its repeat was refused", async () => {
    const time = open();
    const held = await time.holdfast.getLock("a").lock();
    const { holdfast, driver, copy } = await sentTwice(time);
    const refusal = answerLate();
    void driver.next(refusal, "lock-acquire");
    const leaving = new AbortController();
    const call = watched(plain(holdfast).lock({ signal: leaving.signal }));
    await time.clock.advance(100);
    leaving.abort("gone");
    await time.clock.advance(0);
    expect(call.outcome).toEqual({ error: "gone" });
    refusal.arrive();
    await held.unlock();
    await expectNoGhost(time, copy);
  });
});

describe("a client that is closed just after an acquisition was answered", () => {
  const MICROTASKS = Array.from({ length: 25 }, (_, count) => count);

  test.each<[string, LockOf]>([
    ["a lock", plain],
    ["a fair lock", fair],
    ["a red lock", red],
  ])("leaves nothing of %s that its caller was not given", async (_, lockOf) => {
    const time = open();
    const left: unknown[] = [];
    for (const microtasks of MICROTASKS) {
      const { outcome } = await closedAfter(microtasks, time, lockOf);
      if (!outcome || !("value" in outcome)) left.push(...stored(time));
      time.server.flush();
    }
    expect(left).toEqual([]);
  });

  async function closedAfter(microtasks: number, time: FakeTime, lockOf: LockOf): Promise<Watched<Lease>> {
    let closing: Promise<void> | undefined;
    const close = async () => {
      for (let i = 0; i < microtasks; i++) await undefined;
      await client.close();
    };
    const driver = momentsDriver(memoryDriver(time.server), (moment) => {
      if (moment.endsWith("-acquire is answered")) closing ??= close();
    });
    const client: Holdfast = new Holdfast(driver, { clock: time.clock });
    const call = watched(lockOf(client).lock());
    await time.clock.advance(10);
    await closing;
    return call;
  }
});

describe("a copy of an acquisition", () => {
  test("of an inner hold that was given back costs nothing of the holds around it", async () => {
    const { holdfast, driver, clock, fields } = open();
    const lock = holdfast.getLock("a");
    const outer = await lock.lock();
    const again = { threadId: outer.threadId };
    const second = await lock.lock(again);
    const copy = deliverLate({ told: true });
    void driver.next(copy, "lock-acquire");
    const entering = lock.lock(again);
    await clock.advance(100);
    await (await entering).unlock();
    await copy.arrive();
    expect(Object.values(fields("a"))).toEqual(["3"]);
    await second.unlock();
    expect([outer.state, Object.values(fields("a"))]).toEqual(["held", ["1"]]);
    await outer.unlock();
  });

  test("that was refused is undone, though the first try of that was refused as well", async () => {
    const { holdfast, driver, clock, connect, fields } = open();
    const theirs = await connect().holdfast.getLock("a").lock();
    await holdfast.getLock("a").isLocked();
    const copy = deliverLate({ told: true });
    void driver.next(copy, "lock-acquire");
    const refusal = answerWith(new ServerReplyError("MISCONF Redis is configured to save RDB snapshots"));
    void driver.next(refusal, "lock-release");
    const mine = watched(holdfast.getLock("a").tryLock());
    await clock.advance(100);
    expect(mine.outcome).toEqual({ value: null });
    await theirs.unlock();
    await copy.arrive();
    expect(Object.values(fields("a"))).toEqual(["1"]);
    await clock.advance(2 * COMMAND_MS);
    expect(fields("a")).toEqual({});
  });
});

describe("a copy of the release of an attempt whose answer came too late", () => {
  test("does not free the lock that the next attempt would take, which waits for it", async () => {
    const { copy, mine, clock, connect, fields } = await releasedTwice("getLock", "lock");
    await copy.arrive();
    const theirs = await connect().holdfast.getLock("a").tryLock();
    expect([theirs?.state, mine.outcome]).toEqual(["held", undefined]);
    await theirs?.unlock();
    await clock.advance(COMMAND_MS);
    await leaseOf(mine).unlock();
    expect(fields("a")).toEqual({});
  });

  test("does not free the fair lock that the next attempt has taken under another field, without waiting for it", async () => {
    const { copy, mine, connect, fields } = await releasedTwice("getFairLock", "fair");
    await copy.arrive();
    expect(await connect().holdfast.getFairLock("a").tryLock()).toBeNull();
    expect(fields("a")).toEqual({ [leaseOf(mine).holder]: "1" });
    await leaseOf(mine).unlock();
    expect(fields("a")).toEqual({});
  });

  async function releasedTwice(kind: "getLock" | "getFairLock", scripts: string) {
    const time = open();
    const { holdfast, driver, clock } = time;
    await holdfast[kind]("a").isLocked();
    const [answer, copy] = [answerLate(), deliverLate({ told: true })];
    void driver.next(answer, `${scripts}-acquire`);
    void driver.next(copy, `${scripts}-release`);
    const mine = watched(holdfast[kind]("a").lock({ leaseMs: 2_000 }));
    await clock.advance(2_100);
    answer.arrive();
    await clock.advance(100);
    return { ...time, copy, mine };
  }

  function leaseOf({ outcome }: Watched<Lease>): Lease {
    if (outcome === undefined || !("value" in outcome)) throw new Error("has not entered");
    expect(outcome.value.state).toBe("held");
    return outcome.value;
  }
});

/** Three holds of one stay; the last one is asked for twice, as the first answer says that it came too late, and a release goes in between. */
async function entryAfterRelease(time: FakeTime, entry: (lock: Lock, outer: Lease) => Promise<unknown>) {
  const lock = time.holdfast.getLock("a");
  const outer = await lock.lock({ leaseMs: 60_000 });
  const { threadId } = outer;
  const inner = await lock.lock({ leaseMs: 60_000, threadId });
  let released: Watched<void> | undefined;
  const late: CallFault = {
    name: "late",
    async meet() {
      released = watched(inner.unlock());
      await microtasks();
      return [time.clock.wallMs(), "late"];
    },
  };
  const copy = deliverLate({ told: true });
  void time.driver.next(late, "lock-acquire");
  void time.driver.next(copy, "lock-release");
  const entered = watched(entry(lock, outer));
  await time.clock.advance(100);
  expect(released?.outcome).toEqual({ value: undefined });
  return { outer, entered, copy };
}

describe("a copy of a release that went before the second attempt of an entry", () => {
  test("lowers no count that the entry has raised: it waits until none can arrive", async () => {
    const time = open();
    const { outer, entered, copy } = await entryAfterRelease(time, (lock, { threadId }) =>
      lock.lock({ leaseMs: 60_000, threadId, waitMs: 10_000 }),
    );
    expect(entered.outcome).toBeUndefined();
    await copy.arrive();
    await time.clock.advance(COMMAND_MS + 100);
    const inner = (entered.outcome as { value: Lease }).value;
    expect([time.fields("a"), inner.state]).toEqual([{ [outer.holder]: "2" }, "held"]);
    await inner.unlock();
    await outer.unlock();
  });

  test("has an entry that does not wait rejected, and the hold around it stays", async () => {
    const time = open();
    const { outer, entered, copy } = await entryAfterRelease(time, (lock, { threadId }) =>
      lock.tryLock({ leaseMs: 60_000, threadId }),
    );
    expect(entered.outcome).toMatchObject({ error: { name: "UnavailableError", outcomeUnknown: false } });
    await copy.arrive();
    await time.clock.advance(COMMAND_MS + 100);
    expect([time.fields("a"), outer.state]).toEqual([{ [outer.holder]: "1" }, "held"]);
    await outer.unlock();
  });
});
