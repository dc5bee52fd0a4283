import { describe, expect, test } from "vitest";
import { ServerReplyError } from "../../src/driver/driver.js";
import { NotHeldError, ReentryError, UnavailableError, UpgradeNotSupportedError } from "../../src/errors.js";
import type { Holdfast } from "../../src/holdfast.js";
import { LeaseLock } from "../../src/locks/lease-lock.js";
import { fencingTokenKey } from "../../src/protocol/names.js";
import type { CallFault } from "../support/drivers/scripted-driver.js";
import { answerWith, deliverLate, deliverTwice, neverDeliver } from "../support/faults/call-faults.js";
import { watchLeaks } from "../support/run/leaks.js";
import { watched } from "../support/run/watched.js";
import { backends, openedFor } from "../support/servers/backends.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

watchLeaks();

const SEVEN = { threadId: 7 };
const COMMAND_MS = 3_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

const openLate = fakeTime();

/** So many others at once that the client looks for stays which it can forget. */
async function sweep(holdfast: Holdfast): Promise<void> {
  const others = Array.from({ length: 100 }, (_, at) =>
    holdfast.getLock(`other:${at}`).lock({ threadId: 1_000 + at }),
  );
  for (const lease of await Promise.all(others)) await lease.unlock();
}

const refusal = () => answerWith(new ServerReplyError("MISCONF Redis is configured to save RDB snapshots"));

describe.each(backends)("calls under one chosen id at once, on $name", (backend) => {
  const server = openedFor(backend);
  const counts = async () => Object.values(await server().fields("a"));

  test("that wait for its release begin one stay, which keeps all others out to its end", async () => {
    const lock = server().client().getLock("a");
    const first = await lock.lock(SEVEN);
    const released = first.unlock();
    const [second, third] = await Promise.all([lock.lock(SEVEN), lock.lock(SEVEN)]);
    await released;
    expect(await counts()).toEqual(["2"]);
    await second.unlock();
    expect([third.state, await server().client().getLock("a").tryLock()]).toEqual(["held", null]);
    await lock.unlock(7);
    expect(third.state).toBe("released");
  });

  test.each(["getNonReentrantLock", "getNonReentrantFairLock"] as const)(
    "enter the lock of %s once: the second is refused",
    async (kind) => {
      const lock = server().client()[kind]("a");
      const [first, second] = [lock.lock(SEVEN), lock.lock(SEVEN)];
      await expect(second).rejects.toThrow(ReentryError);
      expect(await counts()).toEqual(["1"]);
      await (await first).unlock();
    },
  );

  test("that wait for its release enter a lock that is not reentrant once: the second is refused", async () => {
    const lock = server().client().getNonReentrantLock("a");
    const released = (await lock.lock(SEVEN)).unlock();
    const [first, second] = [lock.lock(SEVEN), lock.lock(SEVEN)];
    await expect(second).rejects.toThrow(ReentryError);
    await released;
    await (await first).unlock();
  });

  test("of a read lock and its write lock: the one who would upgrade is refused", async () => {
    const pair = server().client().getReadWriteLock("a");
    const [reads, writes] = [pair.readLock().lock(SEVEN), pair.writeLock().lock(SEVEN)];
    await expect(writes).rejects.toThrow(UpgradeNotSupportedError);
    await (await reads).unlock();
  });

  test("of a write lock and its read lock: the writer reads as well", async () => {
    const pair = server().client().getReadWriteLock("a");
    const writes = pair.writeLock().lock(SEVEN);
    const reads = pair.readLock().lock(SEVEN);
    for (const lease of await Promise.all([writes, reads])) expect(lease.state).toBe("held");
    await (await reads).unlock();
    await (await writes).unlock();
  });

  test("of a read lock beside its own write hold: they begin one stay", async () => {
    const pair = server().client().getReadWriteLock("a");
    const writing = await pair.writeLock().lock(SEVEN);
    const [first, second] = await Promise.all([pair.readLock().lock(SEVEN), pair.readLock().lock(SEVEN)]);
    expect([first.holdCount, second.holdCount, await pair.readLock().getHoldCount(7)]).toEqual([1, 2, 2]);
    for (const lease of [second, first, writing]) await lease.unlock();
  });
});

describe("a stay under a chosen id, after one that was lost", () => {
  const open = fakeTime();

  test.each(["at once", "after its client has looked for what it can forget"])(
    "has a greater fencing token, though its field was still there: %s",
    async (when) => {
      const { holdfast, clock, fields, server } = open();
      const lock = holdfast.getFencedLock("a");
      const hung = await lock.lock({ ...SEVEN, maxHoldMs: 1_000 });
      await clock.advance(1_000);
      expect([hung.state, fields("a")]).toEqual(["lost", { [hung.holder]: "1" }]);
      if (when !== "at once") await sweep(holdfast);
      const next = await lock.tryLock(SEVEN);
      expect(next?.holder).toBe(hung.holder);
      expect(next?.token).toBeGreaterThan(hung.token);
      await next?.unlock();
      server.command("DEL", fencingTokenKey("a"));
    },
  );

  test("loses nothing to a late unlock of the lost one, which its client has forgotten", async () => {
    const { holdfast, clock, fields } = open();
    const lock = holdfast.getLock("a");
    const lost = await lock.lock({ ...SEVEN, maxHoldMs: 1_000 });
    await clock.advance(HOUR_MS);
    await sweep(holdfast);
    const next = await lock.lock(SEVEN);
    await expect(lost.unlock()).rejects.toThrow(NotHeldError);
    await clock.advance(0);
    expect([next.state, fields("a")]).toEqual(["held", { [next.holder]: "1" }]);
    await next.unlock();
  });

  test("begins anew where a failover had kept only some of the lost holds", async () => {
    const { holdfast, server, fields } = open();
    const lock = holdfast.getLock("a");
    const holds = [await lock.lock(SEVEN), await lock.lock(SEVEN), await lock.lock(SEVEN)];
    const innermost = await lock.lock(SEVEN);
    // The replica that took over had heard of two.
    server.command("HSET", "a", innermost.holder, 2);
    await expect(innermost.unlock()).rejects.toThrow(NotHeldError);
    expect(holds.map(({ state }) => state)).toEqual(["lost", "lost", "lost"]);
    const next = await lock.lock(SEVEN);
    expect([next.holdCount, fields("a")]).toEqual([1, { [next.holder]: "1" }]);
    await next.unlock();
  });

  test("begins when no copy of the lost one's command can arrive any more", async () => {
    const { holdfast, driver, clock, fields } = open();
    const lock = holdfast.getLock("a");
    await lock.isLocked();
    const copy = deliverLate({ told: true });
    void driver.next(copy, "lock-acquire");
    const lost = watched(lock.lock({ ...SEVEN, leaseMs: 300 }));
    await clock.advance(400);
    expect(lost.outcome).toMatchObject({ value: { state: "lost" } });
    const next = watched(lock.lock(SEVEN));
    await clock.advance(100);
    expect(next.outcome).toBeUndefined();
    await copy.arrive();
    await clock.advance(10_000);
    expect([next.outcome, Object.values(fields("a"))]).toMatchObject([{ value: { holdCount: 1 } }, ["1"]]);
    await lock.unlock(7);
    expect(fields("a")).toEqual({});
  });

  test("is refused when the clean-up was, and does not begin while a copy of that may arrive", async () => {
    const { holdfast, driver, clock, connect, fields } = open();
    const lock = holdfast.getLock("a");
    const lost = await lock.lock({ ...SEVEN, maxHoldMs: 1_000 });
    await clock.advance(1_001);
    expect(lost.state).toBe("lost");
    const copy = deliverLate({ told: true });
    for (const fault of [copy, refusal(), refusal()]) void driver.next(fault, "lock-release");
    const refused = watched(lock.lock(SEVEN));
    await clock.advance(100);
    expect(refused.outcome).toMatchObject({ error: { outcomeUnknown: true } });
    const next = watched(lock.lock(SEVEN));
    await clock.advance(1_000);
    expect(next.outcome).toBeUndefined();
    await copy.arrive();
    const other = await connect().holdfast.getLock("a").tryLock();
    expect([other?.state, next.outcome]).toEqual(["held", undefined]);
    await other?.unlock();
    await clock.advance(10_000);
    expect(next.outcome).toMatchObject({ value: { state: "held" } });
    await lock.unlock(7);
    expect(fields("a")).toEqual({});
  });

  test("is refused with the reason when its clean-up was, and has a token of its own when it begins", async () => {
    const { holdfast, driver, clock, server } = open();
    const lock = holdfast.getFencedLock("a");
    const lost = await lock.lock({ ...SEVEN, maxHoldMs: 1_000 });
    await clock.advance(1_001);
    void driver.next(refusal(), "lock-release");
    await expect(lock.lock(SEVEN)).rejects.toThrow("MISCONF");
    const next = await lock.lock(SEVEN);
    expect(next.token).toBeGreaterThan(lost.token);
    await next.unlock();
    server.command("DEL", fencingTokenKey("a"));
  });

  describe("on a server that is silent by now", () => {
    async function silenced({ holdfast, driver, clock }: FakeTime) {
      const lost = await holdfast.getLock("a").lock({ ...SEVEN, maxHoldMs: 1_000 });
      await clock.advance(1_001);
      expect(lost.state).toBe("lost");
      for (let i = 0; i < 100; i++) void driver.next(neverDeliver);
    }

    test("is refused after the time of a command", async () => {
      const time = open();
      await silenced(time);
      const next = watched(time.holdfast.getLock("a").tryLock(SEVEN));
      await time.clock.advance(COMMAND_MS + 100);
      expect(next.outcome).toMatchObject({ error: expect.any(UnavailableError) });
    });

    test("can be cancelled", async () => {
      const time = open();
      await silenced(time);
      const cancel = new AbortController();
      const next = watched(time.holdfast.getLock("a").lock({ ...SEVEN, signal: cancel.signal }));
      await time.clock.advance(100);
      cancel.abort();
      await time.clock.advance(0);
      expect(next.outcome).toMatchObject({ error: { name: "AbortError" } });
    });
  });
});

test("tryLock under a chosen id that is being released says that it is held, however its acquisition went", async () => {
  const { holdfast, driver, clock } = openLate();
  const lock = holdfast.getLock("a");
  await lock.isLocked();
  void driver.next(deliverTwice, "lock-acquire");
  const lease = await lock.lock(SEVEN);
  await clock.advance(HOUR_MS);
  const released = lease.unlock();
  const next = watched(lock.tryLock(SEVEN));
  await released;
  await clock.advance(0);
  expect(next.outcome).toEqual({ value: null });
});

describe("calls under chosen ids that were not answered", () => {
  const open = fakeTime();

  test("do not let the next ones say that somebody else has the lock", async () => {
    const { holdfast, driver, clock } = open();
    const lock = holdfast.getLock("a");
    await lock.isLocked();
    for (let i = 0; i < 50; i++) void driver.next(neverDeliver);
    for (let i = 0; i < 2; i++) {
      const call = watched(lock.tryLock(SEVEN));
      await clock.advance(COMMAND_MS + 100);
      expect(call.outcome).toMatchObject({ error: expect.any(UnavailableError) });
    }
  });

  test("keep the next one waiting while a copy may arrive, also of a clean-up that was given up", async () => {
    const { holdfast, driver, clock, fields } = open();
    const lock = holdfast.getLock("a");
    await lock.isLocked();
    let broken = true;
    const copies = Array.from({ length: 100 }, () => deliverLate({ told: true }));
    for (const copy of copies) void driver.next(copy, () => broken);
    const failed = watched(lock.tryLock({ ...SEVEN, leaseMs: 100 }));
    // By then the clean-up has ended; the last copy of its second try is good for some time yet.
    await clock.advance(11_000);
    expect(failed.outcome).toMatchObject({ error: { outcomeUnknown: true } });
    broken = false;
    const next = watched(lock.lock(SEVEN));
    await clock.advance(100);
    expect(next.outcome).toBeUndefined();
    await copies[driver.calls.filter(({ fault }) => fault !== undefined).length - 1]?.arrive();
    await clock.advance(10_000);
    expect([next.outcome, Object.values(fields("a"))]).toMatchObject([{ value: { state: "held" } }, ["1"]]);
    await lock.unlock(7);
  });

  test("are forgotten when nothing of them can be left", async () => {
    const { holdfast, driver, clock } = open();
    const lock = holdfast.getLock("a");
    if (!(lock instanceof LeaseLock)) throw new TypeError("not a single lock");
    const { threads } = lock.identity.client;
    await lock.isLocked();
    for (let i = 0; i < 20_000; i++) void driver.next(neverDeliver);
    const calls = Array.from({ length: 500 }, (_, at) => watched(lock.tryLock({ threadId: at + 1 })));
    await clock.advance(300_000);
    expect(calls.filter(({ outcome }) => outcome !== undefined && "error" in outcome)).toHaveLength(500);
    // Whoever comes next sweeps.
    for (let id = 1_001; id <= 1_020; id++) void watched(lock.tryLock({ threadId: id }));
    expect([...threads.stays()].length).toBeLessThanOrEqual(20);
    await clock.advance(100_000);
  });
});

describe("a read under a chosen id that comes while its write lock is being released", () => {
  const open = fakeTime();

  test.each(["after the first of two releases", "after both"])("reads afterwards: %s", async (when) => {
    const pair = open().holdfast.getReadWriteLock("a");
    const outer = await pair.writeLock().lock(SEVEN);
    const inner = await pair.writeLock().lock(SEVEN);
    const released = [inner.unlock()];
    if (when === "after both") released.push(outer.unlock());
    const reads = pair.readLock().lock(SEVEN);
    if (when !== "after both") released.push(outer.unlock());
    await Promise.all(released);
    const reading = await reads;
    expect(reading.state).toBe("held");
    await reading.unlock();
  });
});

describe("an id whose last call has an unknown outcome", () => {
  test("may be used again soon, though another server has taken over whose clock is an hour behind [own-2]", async () => {
    const time = openLate();
    const lock = time.holdfast.getLock("a");
    await lock.isLocked();
    const late = deliverLate({ told: true });
    void time.driver.next(late, "lock-acquire");
    const called = watched(lock.tryLock(SEVEN));
    await time.clock.advance(100);
    if (called.outcome === undefined || !("value" in called.outcome)) throw new Error("not taken");
    const released = watched(called.outcome.value?.unlock() ?? Promise.reject(new Error("not taken")));
    time.clock.suspend(-HOUR_MS);
    time.driver.reset();
    await time.clock.advance(70_000);
    expect(released.outcome).toEqual({ value: undefined });
    expect(await lock.tryLock(SEVEN)).toMatchObject({ state: "held" });
    await lock.unlock(7);
    expect(time.fields("a")).toEqual({});
  });

  test("is not entered again while a copy of a release may lower the count, though its other hold lives on [own-53]", async () => {
    const time = openLate({ watchdogMs: 1_000, commandTimeoutMs: 200 });
    const lock = time.holdfast.getLock("a");
    const outer = await lock.lock(SEVEN);
    const inner = await lock.lock(SEVEN);
    const late = deliverLate({ told: true });
    const repeat: CallFault = { name: "repeat", meet: (deliver) => deliver() };
    // What looks after such copies has no luck for longer than the lease.
    const full = answerWith(new ServerReplyError("OOM"));
    for (const fault of [late, repeat, full, full]) void time.driver.next(fault, "lock-release");
    const released = inner.unlock();
    time.clock.suspend(-MINUTE_MS);
    await time.clock.advance(100);
    await released;
    await time.clock.advance(5_000);
    const entered = watched(lock.lock(SEVEN));
    await time.clock.advance(100);
    await late.arrive();
    await time.clock.advance(60_000);
    if (entered.outcome === undefined || !("value" in entered.outcome)) throw new Error("not taken");
    expect(Object.values(time.fields("a"))).toEqual(["2"]);
    await entered.outcome.value.unlock();
    await outer.unlock();
    expect(time.fields("a")).toEqual({});
  });
});
