import { describe, expect, test } from "vitest";
import { readHoldKey } from "../../src/protocol/names.js";
import { answerLate, deliverLate, neverDeliver } from "../support/faults/call-faults.js";
import { watched } from "../support/run/watched.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";

const open = fakeTime();

const NAME = "order:7";
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
/** What a client waits beyond the end of a lease to be sure of it, and more than a beat of its timers. */
const AFTER_MS = 200;
const JVM = "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:57";
const LATE = { code: "ERR_HOLDFAST_NOT_HELD" };

function pairOf({ holdfast }: Pick<FakeTime, "holdfast">) {
  const pair = holdfast.getReadWriteLock(NAME);
  return { read: pair.readLock(), write: pair.writeLock() };
}

/** One more client, which waits for the write lock. */
async function waitingWriter(time: FakeTime) {
  const call = pairOf(time.connect()).write.lock();
  const seen = watched(call);
  await time.clock.advance(0);
  return { call, seen };
}

type WaitingWriter = Awaited<ReturnType<typeof waitingWriter>>;

/** It enters just at that time from now on, and leaves. */
async function entersIn({ clock }: FakeTime, { call, seen }: WaitingWriter, ms: number): Promise<void> {
  await clock.advance(ms - AFTER_MS);
  expect(seen.outcome).toBeUndefined();
  await clock.advance(2 * AFTER_MS);
  expect(seen.outcome).toMatchObject({ value: { state: "held" } });
  await (await call).unlock();
}

/** For so many seconds from now on; between two renewals as well. */
async function keepsTtlAbove({ clock, ttlMs }: FakeTime, leastMs: number, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    await clock.advance(SECOND_MS);
    expect(ttlMs(NAME)).toBeGreaterThan(leastMs);
  }
}

/** As a JVM's script stores a read hold. */
function jvmReads({ server }: FakeTime, leaseMs: number): void {
  server.command("HSET", NAME, "mode", "read", JVM, "1");
  server.command("SET", readHoldKey(NAME, JVM, 1), "1", "PX", leaseMs);
  if (Number(server.command("PTTL", NAME)) < leaseMs) server.command("PEXPIRE", NAME, leaseMs);
}

describe("a read hold", () => {
  test("of a thread that took it many times leaves nothing to renew when all are released [B2]", async () => {
    const time = open();
    const { read } = pairOf(time);
    const leases = [await read.lock()];
    for (let i = 0; i < 5; i += 1) leases.push(await read.lock({ threadId: leases[0]?.threadId }));
    await time.clock.advance(10 * SECOND_MS);
    expect(time.driver.timesOf("read-renew")).toHaveLength(1);
    for (const lease of leases) await lease.unlock();
    await time.clock.advance(MINUTE_MS);
    expect(time.driver.timesOf("read-renew")).toHaveLength(1);
    expect(time.server.dump()).toEqual({});
  });

  test("that is alone with a dead reader's lets a writer in when that one's lease is over, and renews none but its own [B3]", async () => {
    const time = open();
    const dying = time.connect();
    const dead = await pairOf(dying).read.lock();
    const alive = await pairOf(time).read.lock();
    await dying.holdfast.close();
    await time.clock.advance(20 * SECOND_MS);
    expect(time.ttlMs(readHoldKey(NAME, dead.holder, 1))).toBe(10 * SECOND_MS);
    expect(time.ttlMs(readHoldKey(NAME, alive.holder, 1))).toBe(30 * SECOND_MS);
    const writer = await waitingWriter(time);
    await alive.unlock();
    await entersIn(time, writer, 10 * SECOND_MS);
  });

  test("with a long lease outlives a reader beside it that is renewed and dies [wire-S6] [wire-A14]", async () => {
    const time = open();
    const long = await pairOf(time).read.lock({ leaseMs: 10 * MINUTE_MS });
    await time.clock.advance(5 * SECOND_MS);
    const dying = time.connect();
    await pairOf(dying).read.lock();
    await keepsTtlAbove(time, 8 * MINUTE_MS, 55);
    await dying.holdfast.close();
    await time.clock.advance(5 * MINUTE_MS);
    expect(long.state).toBe("held");
    expect(await pairOf(time.connect()).write.tryLock()).toBeNull();
    await long.unlock();
    expect(time.server.dump()).toEqual({});
  });

  test("with a long lease survives that a JVM's watchdog lowers the TTL of the lock and dies [R10]", async () => {
    const time = open();
    const long = await pairOf(time).read.lock({ leaseMs: 10 * MINUTE_MS });
    jvmReads(time, 30 * SECOND_MS);
    time.server.command("PEXPIRE", NAME, 30 * SECOND_MS);
    await time.clock.advance(10 * SECOND_MS + 100);
    expect(time.ttlMs(NAME)).toBeGreaterThan(9 * MINUTE_MS);
    await time.clock.advance(5 * MINUTE_MS);
    expect(long.state).toBe("held");
    expect(await pairOf(time.connect()).write.tryLock()).toBeNull();
    await long.unlock();
  });

  test("with a long lease survives that a JVM's watchdog lowers the TTL of its own key and dies [R10]", async () => {
    const time = open();
    const long = await pairOf(time).read.lock({ leaseMs: 10 * MINUTE_MS });
    const own = readHoldKey(NAME, long.holder, 1);
    // Before Redisson 4.4 it does so with the keys of all readers.
    time.server.command("PEXPIRE", own, 30 * SECOND_MS);
    await time.clock.advance(10 * SECOND_MS + 100);
    expect(time.ttlMs(own)).toBeGreaterThan(9 * MINUTE_MS);
    await time.clock.advance(5 * MINUTE_MS);
    expect(long.state).toBe("held");
    await pairOf(time.connect()).read.using(() => undefined);
    expect(await pairOf(time.connect()).write.tryLock()).toBeNull();
    await long.unlock();
  });

  test("with a long lease is lost within a third of fleetWatchdogMs when its own key is gone [R10]", async () => {
    const time = open();
    const long = await pairOf(time).read.lock({ leaseMs: 10 * MINUTE_MS });
    time.server.command("DEL", readHoldKey(NAME, long.holder, 1));
    await time.clock.advance(10 * SECOND_MS + 100);
    expect(long.signal.reason).toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST", reason: "stolen" });
    time.server.command("DEL", NAME);
  });

  test("outlives one of its thread that ends by itself while a renewal is on its way [R10]", async () => {
    const time = open();
    const { read } = pairOf(time);
    const outer = await read.lock();
    const inner = await read.lock({ threadId: outer.threadId, leaseMs: 10.2 * SECOND_MS });
    const late = deliverLate();
    const renewal = time.driver.next(late, "read-renew");
    await time.clock.advance(10 * SECOND_MS);
    await renewal;
    await time.clock.advance(300);
    expect(await late.arrive()).toContainEqual(["lost"]);
    await time.clock.advance(MINUTE_MS);
    expect([inner.state, outer.state]).toEqual(["lost", "held"]);
    await outer.unlock();
  });

  test("is not prolonged by a renewal that was sent before it was there [own-46]", async () => {
    const time = open();
    const { read } = pairOf(time);
    const outer = await read.lock();
    await time.clock.advance(9 * SECOND_MS);
    const [entry, renewal] = [answerLate(), answerLate()];
    void time.driver.next(entry, "read-acquire");
    void time.driver.next(renewal, "read-renew");
    const entering = read.lock({ threadId: outer.threadId });
    await time.clock.advance(SECOND_MS + AFTER_MS);
    entry.arrive();
    const inner = await entering;
    renewal.arrive();
    await time.clock.advance(0);
    const keptMs = [outer, inner].map(({ holdCount }) =>
      time.ttlMs(readHoldKey(NAME, outer.holder, holdCount)),
    );
    expect(outer.remainingMs()).toBeGreaterThan(keptMs[1] ?? 0);
    expect(inner.remainingMs()).toBeLessThan(keptMs[1] ?? 0);
    await inner.unlock();
    await outer.unlock();
  });

  test("is not shortened by a late copy of the acquisition of one that had its number before [own-58]", async () => {
    const time = open();
    const { read } = pairOf(time);
    const copy = deliverLate({ told: true });
    void time.driver.next(copy, "read-acquire");
    const taking = read.lock({ leaseMs: 300 });
    await time.clock.advance(AFTER_MS);
    const short = await taking;
    const long = await read.lock({ threadId: short.threadId, leaseMs: MINUTE_MS });
    await short.unlock();
    await copy.arrive();
    expect(time.ttlMs(readHoldKey(NAME, long.holder, 1))).toBeGreaterThan(long.remainingMs());
    await long.unlock();
  });

  test("keeps a writer out for the longer of two leases [RedissonReadWriteLockTest 1]", async () => {
    const time = open();
    const [long, short] = [pairOf(time.connect()), pairOf(time.connect())];
    await long.read.lock({ leaseMs: 10 * SECOND_MS });
    await short.read.lock({ leaseMs: 3 * SECOND_MS });
    await entersIn(time, await waitingWriter(time), 10 * SECOND_MS);
  });

  test("is still there after two leases of the watchdog, and so are fifty [RedissonReadWriteLockTest 3]", async () => {
    const time = open();
    const { read } = pairOf(time);
    const leases = await Promise.all(Array.from({ length: 50 }, () => read.lock()));
    await time.clock.advance(MINUTE_MS);
    for (const lease of leases) await lease.unlock();
    expect(time.server.dump()).toEqual({});
  });

  test("ends with its own lease although another reader came and went [RedissonReadWriteLockTest 8]", async () => {
    const time = open();
    await pairOf(time).read.lock({ leaseMs: 10 * SECOND_MS });
    await time.clock.advance(5 * SECOND_MS);
    await pairOf(time.connect()).read.using(() => undefined);
    await entersIn(time, await waitingWriter(time), 5 * SECOND_MS);
  });

  test("ends with its own lease although its thread came and went once more [RedissonReadWriteLockTest 9]", async () => {
    const time = open();
    const { read } = pairOf(time);
    const outer = await read.lock({ leaseMs: 10 * SECOND_MS });
    await time.clock.advance(5 * SECOND_MS);
    await outer.run(() => read.using(() => undefined));
    await entersIn(time, await waitingWriter(time), 5 * SECOND_MS);
  });

  test("is released as ever after another reader came and went [RedissonReadWriteLockTest 17]", async () => {
    const time = open();
    const first = await pairOf(time).read.lock({ leaseMs: 2 * SECOND_MS });
    const second = await pairOf(time.connect()).read.tryLock();
    await second?.unlock();
    await time.clock.advance(SECOND_MS);
    await first.unlock();
    expect([second?.holdCount, time.server.dump()]).toEqual([1, {}]);
  });
});

describe("a write hold", () => {
  test("leaves the longer lease of its own read alone, also after the downgrade [wire-S7]", async () => {
    const time = open();
    const { read, write } = pairOf(time);
    const writing = await write.lock();
    await time.clock.advance(5 * SECOND_MS);
    const reading = await writing.run(() => read.lock({ leaseMs: 10 * MINUTE_MS }));
    await keepsTtlAbove(time, 8 * MINUTE_MS, 60);
    await writing.unlock();
    expect(time.ttlMs(NAME)).toBe(9 * MINUTE_MS);
    expect(time.fields(NAME)).toEqual({ mode: "read", [reading.holder]: "1" });
    await reading.unlock();
  });

  test("lets all waiting readers in when its lease is over [RedissonReadWriteLockTest 7]", async () => {
    const time = open();
    await pairOf(time).write.lock({ leaseMs: 10 * SECOND_MS });
    const calls = [1, 2].map(() => pairOf(time.connect()).read.lock());
    const readers = calls.map(watched);
    await time.clock.advance(10 * SECOND_MS - AFTER_MS);
    expect(readers.map(({ outcome }) => outcome)).toEqual([undefined, undefined]);
    await time.clock.advance(2 * AFTER_MS);
    const held = { value: { state: "held" } };
    expect(readers.map(({ outcome }) => outcome)).toMatchObject([held, held]);
    for (const lease of await Promise.all(calls)) await lease.unlock();
  });

  test("and its own read are renewed side by side, and the read alone afterwards [RedissonReadWriteLockTest 16]", async () => {
    const time = open();
    const { read, write } = pairOf(time);
    const writing = await write.lock();
    const reading = await writing.run(() => read.lock());
    await keepsTtlAbove(time, 19 * SECOND_MS, 45);
    expect(await pairOf(time.connect()).read.tryLock()).toBeNull();
    await writing.unlock();
    await keepsTtlAbove(time, 19 * SECOND_MS, 45);
    expect(time.fields(NAME)).toEqual({ mode: "read", [reading.holder]: "1" });
    await reading.unlock();
    expect(time.server.dump()).toEqual({});
  });

  test("lets the next writer in when its lease is over, and is told so by its release [RedissonReadWriteLockTest 17]", async () => {
    const time = open();
    const first = await pairOf(time).write.lock({ leaseMs: 2 * SECOND_MS });
    const { call, seen } = await waitingWriter(time);
    await time.clock.advance(2 * SECOND_MS + AFTER_MS);
    expect(seen.outcome).toMatchObject({ value: { state: "held" } });
    await expect(first.unlock()).rejects.toMatchObject(LATE);
    const second = await call;
    expect(time.fields(NAME)).toEqual({ mode: "write", [second.holder]: "1" });
    await second.unlock();
  });
});

describe("a read hold that stays when an inner one is released", () => {
  test("is not lost by a renewal between the tries of that release", async () => {
    const time = open();
    const { read } = pairOf(time);
    const short = await read.lock({ leaseMs: 3 * SECOND_MS });
    const again = { threadId: short.threadId };
    const kept = await read.lock(again);
    const third = await read.lock(again);
    await time.clock.advance(6 * SECOND_MS);
    expect([short.state, kept.state]).toEqual(["lost", "held"]);
    // The release is lost twice, 3 s and a pause apart; meanwhile comes the beat of the watchdog.
    for (let i = 0; i < 2; i++) void time.driver.next(neverDeliver, "read-release");
    const released = watched(third.unlock());
    await time.clock.advance(12 * SECOND_MS);
    expect(released.outcome).toMatchObject({ error: { outcomeUnknown: true } });
    expect([kept.state, time.fields(NAME)]).toEqual(["held", { mode: "read", [kept.holder]: "1" }]);
    await kept.unlock();
  });
});
