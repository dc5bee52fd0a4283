import { describe, expect, test } from "vitest";
import { readHoldKey, rwChannel } from "../../src/protocol/names.js";
import { type FakeTime, fakeTime } from "../support/fake-time.js";
import { watched } from "../support/watched.js";

const open = fakeTime();

const NAME = "order:7";
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const JVM = "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:57";

function pairOf({ holdfast }: Pick<FakeTime, "holdfast">, fair = false) {
  const pair = holdfast.getReadWriteLock(NAME, { fair });
  return { read: pair.readLock(), write: pair.writeLock() };
}

/** As a JVM's script stores a read hold. */
function jvmReads({ server }: FakeTime, leaseMs: number): void {
  server.command("HSET", NAME, "mode", "read", JVM, "1");
  server.command("SET", readHoldKey(NAME, JVM, 1), "1", "PX", leaseMs);
  if (Number(server.command("PTTL", NAME)) < leaseMs) server.command("PEXPIRE", NAME, leaseMs);
}

function heard({ server }: FakeTime): readonly string[] {
  const messages: string[] = [];
  server.subscribe(rwChannel(NAME), (message) => messages.push(message));
  return messages;
}

describe("a read hold", () => {
  test("is stored as Redisson's: mode, count, and a key of its own with its own lease", async () => {
    const time = open();
    const { read } = pairOf(time);
    const outer = await read.lock({ leaseMs: MINUTE_MS });
    const inner = await outer.run(() => read.lock({ leaseMs: 5 * SECOND_MS }));
    expect(time.fields(NAME)).toEqual({ mode: "read", [outer.holder]: "2" });
    expect(time.server.command("GET", readHoldKey(NAME, outer.holder, 1))).toBe("1");
    expect(time.ttlMs(readHoldKey(NAME, outer.holder, 1))).toBe(MINUTE_MS);
    expect(time.ttlMs(readHoldKey(NAME, outer.holder, 2))).toBe(5 * SECOND_MS);
    expect(time.ttlMs(NAME)).toBe(MINUTE_MS);
    await inner.unlock();
    await outer.unlock();
  });

  test("keeps its own lease when the other of its thread is released first or last [wire-S26]", async () => {
    const time = open();
    const { read } = pairOf(time);
    const long = await read.lock({ leaseMs: MINUTE_MS });
    const short = await long.run(() => read.lock({ leaseMs: 10 * SECOND_MS }));
    await long.unlock();
    expect(time.fields(NAME)).toEqual({ mode: "read", [short.holder]: "1" });
    expect(time.ttlMs(readHoldKey(NAME, short.holder, 1))).toBe(10 * SECOND_MS);
    expect(time.ttlMs(NAME)).toBe(10 * SECOND_MS);
    await time.clock.advance(9 * SECOND_MS);
    expect(short.state).toBe("held");
    await short.unlock();
  });

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
    const { read } = pairOf(time);
    const alive = await read.lock();
    await dying.holdfast.close();
    await time.clock.advance(20 * SECOND_MS);
    expect(time.ttlMs(readHoldKey(NAME, dead.holder, 1))).toBe(10 * SECOND_MS);
    expect(time.ttlMs(readHoldKey(NAME, alive.holder, 1))).toBe(30 * SECOND_MS);
    const call = pairOf(time.connect()).write.lock();
    const writing = watched(call);
    await time.clock.advance(11 * SECOND_MS);
    expect(writing.outcome).toBeUndefined();
    await alive.unlock();
    await time.clock.advance(SECOND_MS);
    expect(writing.outcome).toMatchObject({ value: { state: "held" } });
    await (await call).unlock();
  });

  test("with a long lease outlives a reader beside it that is renewed and dies [wire-S6] [wire-A14]", async () => {
    const time = open();
    const long = await pairOf(time).read.lock({ leaseMs: 10 * MINUTE_MS });
    const dying = time.connect();
    await pairOf(dying).read.lock();
    await time.clock.advance(MINUTE_MS);
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

  test("is lost at the next renewal when its own key is gone, though its field is there [R10]", async () => {
    const time = open();
    const lease = await pairOf(time).read.lock();
    const losses: unknown[] = [];
    lease.signal.addEventListener("abort", () => losses.push(lease.signal.reason));
    time.server.command("DEL", readHoldKey(NAME, lease.holder, 1));
    await time.clock.advance(10 * SECOND_MS + 100);
    expect(losses).toMatchObject([{ code: "ERR_HOLDFAST_LEASE_LOST", reason: "stolen" }]);
    await expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
    await time.clock.advance(SECOND_MS);
  });
});

describe("a write hold", () => {
  test("raises the TTL when it is taken again, and does not add to it [wire-A7]", async () => {
    const time = open();
    const { write } = pairOf(time);
    const outer = await write.lock({ leaseMs: MINUTE_MS });
    const inner = await outer.run(() => write.lock({ leaseMs: MINUTE_MS }));
    expect(time.ttlMs(NAME)).toBe(MINUTE_MS);
    const short = await write.lock({ leaseMs: SECOND_MS, threadId: outer.threadId });
    expect(time.ttlMs(NAME)).toBe(MINUTE_MS);
    for (const lease of [short, inner, outer]) await lease.unlock();
  });

  test("leaves the longer lease of its own read alone, also after the downgrade [wire-S7]", async () => {
    const time = open();
    const { read, write } = pairOf(time);
    const writing = await write.lock();
    const reading = await writing.run(() => read.lock({ leaseMs: 10 * MINUTE_MS }));
    await time.clock.advance(MINUTE_MS);
    expect(time.ttlMs(NAME)).toBeGreaterThan(8 * MINUTE_MS);
    await writing.unlock();
    expect(time.ttlMs(NAME)).toBe(9 * MINUTE_MS);
    expect(time.fields(NAME)).toEqual({ mode: "read", [reading.holder]: "1" });
    await reading.unlock();
  });

  test("goes over into its own read, and waiting readers are told and enter [wire-L11]", async () => {
    const time = open();
    const { read, write } = pairOf(time);
    const writing = await write.lock();
    const reading = await writing.run(() => read.lock());
    const calls = Array.from({ length: 3 }, () => pairOf(time.connect()).read.lock());
    const waiting = calls.map(watched);
    await time.clock.advance(SECOND_MS);
    const messages = heard(time);
    await writing.unlock();
    await time.clock.advance(0);
    expect(messages).toEqual(["1"]);
    expect(waiting.map(({ outcome }) => outcome)).toMatchObject([
      { value: {} },
      { value: {} },
      { value: {} },
    ]);
    expect(await write.tryLock()).toBeNull();
    for (const lease of [reading, ...(await Promise.all(calls))]) {
      await lease.unlock();
    }
  });

  test("lets twenty waiting readers of one client in together [wire-L12]", async () => {
    const time = open();
    const { read, write } = pairOf(time);
    const writing = await write.lock();
    const calls = Array.from({ length: 20 }, () => read.lock());
    const readers = calls.map(watched);
    await time.clock.advance(SECOND_MS);
    await writing.unlock();
    await time.clock.advance(0);
    expect(readers.filter(({ outcome }) => outcome !== undefined)).toHaveLength(20);
    for (const lease of await Promise.all(calls)) await lease.unlock();
  });
});

describe("inside a write scope", () => {
  test("two reads at once do not wait for their own write hold, nor for each other [R19]", async () => {
    const time = open();
    const { read, write } = pairOf(time);
    let together = 0;
    await write.using(() =>
      Promise.all(
        [1, 2].map(() =>
          read.using(async () => {
            together += 1;
            await time.clock.advance(1);
            expect(together).toBe(2);
          }),
        ),
      ),
    );
    expect(time.server.dump()).toEqual({});
  });

  test("a read passes the strangers that wait for the read lock [R20]", async () => {
    const time = open();
    const { read, write } = pairOf(time);
    await write.using(async () => {
      const call = time.holdfast.outside(() => read.lock());
      const stranger = watched(call);
      await time.clock.advance(SECOND_MS);
      await read.using(() => expect(stranger.outcome).toBeUndefined());
      await write.using(() => undefined);
      void call.then((lease) => lease.unlock());
    });
    await time.clock.advance(SECOND_MS);
  });

  test("siblings that read and both want to write again are refused, as any upgrade is", async () => {
    const time = open();
    const { read, write } = pairOf(time);
    const upgrade = () => read.using(() => time.clock.advance(1).then(() => write.using(() => undefined)));
    const outcomes = await write.using(() => Promise.allSettled([upgrade(), upgrade()]));
    expect(outcomes).toContainEqual(
      expect.objectContaining({ reason: expect.objectContaining({ code: "ERR_HOLDFAST_UPGRADE" }) }),
    );
  });

  test("a write again waits for a sibling that reads, and a read for a sibling that writes", async () => {
    const time = open();
    const { read, write } = pairOf(time);
    const log: string[] = [];
    const visit = (lock: typeof read, name: string) =>
      lock.using(async () => {
        log.push(`${name} in`);
        await time.clock.advance(1);
        log.push(`${name} out`);
      });
    await write.using(() => Promise.all([visit(read, "reader"), visit(write, "writer")]));
    await write.using(() => Promise.all([visit(write, "writer"), visit(read, "reader")]));
    expect(log).toEqual([
      ...["reader in", "reader out", "writer in", "writer out"],
      ...["writer in", "writer out", "reader in", "reader out"],
    ]);
  });
});

describe("who reads", () => {
  test("is refused the write lock at once, in a body, by its threadId and beside others", async () => {
    const time = open();
    const { read, write } = pairOf(time);
    const upgrade = { code: "ERR_HOLDFAST_UPGRADE", lockName: NAME };
    await read.using(async (lease) => {
      await expect(write.lock()).rejects.toMatchObject(upgrade);
      await expect(write.tryLock()).rejects.toMatchObject(upgrade);
      await expect(write.lock({ threadId: lease.threadId })).rejects.toMatchObject(upgrade);
    });
    await write.using(() => undefined);
  });
});
