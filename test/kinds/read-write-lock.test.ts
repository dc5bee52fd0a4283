import { describe, expect, test } from "vitest";
import type { Lock } from "../../src/locks/lock.js";
import { readHoldKey, rwChannel, writersQueueKey } from "../../src/protocol/names.js";
import { until } from "../support/run/until.js";
import { watched } from "../support/run/watched.js";
import { backends, openedFor } from "../support/servers/backends.js";
import { readWriteParty } from "../support/worlds/read-write-party.js";

const NAME = "order:7";
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
/** No test of this file takes so long. */
const SLACK_MS = 15 * SECOND_MS;
const WATCHDOG_MS = 1_500;
const JVM = "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:57";
const UPGRADE = { code: "ERR_HOLDFAST_UPGRADE", lockName: NAME };

describe.each(backends)("on $name", (backend) => {
  const server = openedFor(backend);
  const party = () => readWriteParty(server(), NAME);
  const heard = () => server().listen(rwChannel(NAME));

  /** @param leaseMs what was asked for a moment ago */
  async function expectTtl(key: string, leaseMs: number): Promise<void> {
    const ttlMs = await server().ttlMs(key);
    expect(ttlMs).toBeLessThanOrEqual(leaseMs);
    expect(ttlMs).toBeGreaterThan(leaseMs - SLACK_MS);
  }

  describe("a read hold", () => {
    test("is stored as Redisson's: mode, count, and a key of its own with its own lease", async () => {
      const { read } = party();
      const outer = await read.lock({ leaseMs: 2 * MINUTE_MS });
      const inner = await outer.run(() => read.lock({ leaseMs: MINUTE_MS }));
      expect(await server().fields(NAME)).toEqual({ mode: "read", [outer.holder]: "2" });
      expect(await server().raw("GET", readHoldKey(NAME, outer.holder, 1))).toBe("1");
      await expectTtl(readHoldKey(NAME, outer.holder, 1), 2 * MINUTE_MS);
      await expectTtl(readHoldKey(NAME, outer.holder, 2), MINUTE_MS);
      await expectTtl(NAME, 2 * MINUTE_MS);
      await inner.unlock();
      await outer.unlock();
    });

    test.each([
      ["outer", 2, 1],
      ["inner", 2, 1],
      ["outer", 1, 2],
      ["inner", 1, 2],
    ])(
      "keeps its own lease when the %s one of its thread is released: %i and %i minutes [wire-S26]",
      async (released, outerMinutes, innerMinutes) => {
        const { read } = party();
        const outer = await read.lock({ leaseMs: outerMinutes * MINUTE_MS });
        const inner = await outer.run(() => read.lock({ leaseMs: innerMinutes * MINUTE_MS }));
        const [gone, kept, keptMinutes] =
          released === "outer" ? [outer, inner, innerMinutes] : [inner, outer, outerMinutes];
        await gone.unlock();
        expect(await server().fields(NAME)).toEqual({ mode: "read", [kept.holder]: "1" });
        await expectTtl(readHoldKey(NAME, kept.holder, 1), keptMinutes * MINUTE_MS);
        await expectTtl(NAME, keptMinutes * MINUTE_MS);
        expect(await server().keys()).toHaveLength(2);
        await kept.unlock();
      },
    );

    test("that lives on keeps the lock for as long as its lease when another client's is released", async () => {
      const short = await party().read.lock({ leaseMs: MINUTE_MS });
      const long = await party().read.lock({ leaseMs: 2 * MINUTE_MS });
      await expectTtl(NAME, 2 * MINUTE_MS);
      await long.unlock();
      await expectTtl(NAME, MINUTE_MS);
      await short.unlock();
    });
  });

  describe("a read hold beside others' that are dead or do as Redisson does", () => {
    test("leaves nothing of them behind when it is released last [wire-A14]", async () => {
      const lease = await party().read.lock();
      await server().raw("HSET", NAME, JVM, "2");
      expect(await party().write.tryLock()).toBeNull();
      await lease.unlock();
      expect(await server().keys()).toEqual([]);
    });

    test("raises the TTL of the lock again when a JVM's watchdog has lowered it [R10]", async () => {
      const read = server().client({ fleetWatchdogMs: WATCHDOG_MS }).getReadWriteLock(NAME).readLock();
      const lease = await read.lock({ leaseMs: 10 * MINUTE_MS });
      await server().raw("PEXPIRE", NAME, MINUTE_MS);
      await until(async () => (await server().ttlMs(NAME)) > MINUTE_MS);
      await expectTtl(NAME, 10 * MINUTE_MS);
      await lease.unlock();
    });

    test("is lost at the next renewal when its own key is gone, though its field is there [R10]", async () => {
      const read = server().client({ watchdogMs: WATCHDOG_MS }).getReadWriteLock(NAME).readLock();
      const lease = await read.lock();
      const lost = new Promise((resolve) => lease.signal.addEventListener("abort", resolve));
      await server().raw("DEL", readHoldKey(NAME, lease.holder, 1));
      await lost;
      expect(lease.signal.reason).toMatchObject({ code: "ERR_HOLDFAST_LEASE_LOST", reason: "stolen" });
      await expect(lease.unlock()).rejects.toMatchObject({ code: "ERR_HOLDFAST_NOT_HELD" });
    });
  });

  describe("a write hold", () => {
    test("raises the TTL when it is taken again, and does not add to it [wire-A7]", async () => {
      const { write } = party();
      const outer = await write.lock({ leaseMs: MINUTE_MS });
      const inner = await outer.run(() => write.lock({ leaseMs: MINUTE_MS }));
      await expectTtl(NAME, MINUTE_MS);
      const short = await write.lock({ leaseMs: SECOND_MS, threadId: outer.threadId });
      await expectTtl(NAME, MINUTE_MS);
      for (const lease of [short, inner, outer]) await lease.unlock();
    });

    test("leaves the longer lease of its own read alone when it is released", async () => {
      const { read, write } = party();
      const writing = await write.lock();
      const reading = await writing.run(() => read.lock({ leaseMs: 10 * MINUTE_MS }));
      await writing.unlock();
      await expectTtl(NAME, 10 * MINUTE_MS);
      expect(await server().fields(NAME)).toEqual({ mode: "read", [reading.holder]: "1" });
      await reading.unlock();
    });

    test("goes over into its own read, and waiting readers are told and enter [wire-L11]", async () => {
      const { read, write } = party();
      const writing = await write.lock();
      const reading = await writing.run(() => read.lock());
      const others = [party(), party(), party()];
      const calls = others.map((other) => other.read.lock());
      await Promise.all(others.map((other) => other.waits()));
      const messages = await heard();
      await writing.unlock();
      const readers = await Promise.all(calls);
      await until(() => messages.length === 1);
      expect(messages).toEqual(["1"]);
      expect(await write.tryLock()).toBeNull();
      for (const lease of [reading, ...readers]) await lease.unlock();
    });

    test("lets twenty waiting readers of one client in together [wire-L12]", async () => {
      const { read, write, waits } = party();
      const writing = await write.lock();
      const calls = Array.from({ length: 20 }, () => read.lock());
      await waits();
      await writing.unlock();
      // None is released before all are in.
      const leases = await Promise.all(calls);
      expect(new Set(leases.map(({ state }) => state))).toEqual(new Set(["held"]));
      for (const lease of leases) await lease.unlock();
    });
  });

  describe("inside a write scope", () => {
    test("two reads at once do not wait for their own write hold, nor for each other [R19]", async () => {
      const { read, write } = party();
      let together = 0;
      const meet = () => {
        together += 1;
        return until(() => together === 2);
      };
      await write.using(() => Promise.all([read.using(meet), read.using(meet)]));
      expect(together).toBe(2);
    });

    test("a read passes the strangers that wait for the read lock [R20]", async () => {
      const { holdfast, read, write, waits } = party();
      const stranger = await write.using(async () => {
        const call = holdfast.outside(() => read.lock());
        const waiting = watched(call);
        await waits();
        await read.using(() => expect(waiting.outcome).toBeUndefined());
        await write.using(() => undefined);
        return { call };
      });
      await (await stranger.call).unlock();
    });

    test("siblings that read and both want to write again are refused, as any upgrade is", async () => {
      const { read, write } = party();
      let reading = 0;
      const upgrade = () =>
        read.using(async () => {
          reading += 1;
          await until(() => reading === 2);
          await write.using(() => undefined);
        });
      const outcomes = await write.using(() => Promise.allSettled([upgrade(), upgrade()]));
      expect(outcomes).toContainEqual(expect.objectContaining({ reason: expect.objectContaining(UPGRADE) }));
    });

    test("a write again waits for a sibling that reads, and a read for a sibling that writes", async () => {
      const { read, write } = party();
      const log: string[] = [];
      const visit = (lock: Lock, name: string) =>
        lock.using(async () => {
          log.push(`${name} in`);
          // On the same connection: a sibling that could enter has by then.
          await lock.isLocked();
          await new Promise(setImmediate);
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

  test("who reads is refused the write lock at once, in a body, by its threadId and beside others", async () => {
    const { read, write } = party();
    const beside = await party().read.lock();
    await read.using(async (lease) => {
      await expect(write.lock()).rejects.toMatchObject(UPGRADE);
      await expect(write.tryLock()).rejects.toMatchObject(UPGRADE);
      await expect(write.lock({ threadId: lease.threadId })).rejects.toMatchObject(UPGRADE);
    });
    await beside.unlock();
    await write.using(() => undefined);
  });

  test("a writer is told of the last reader's release, and readers of the writer's, by message", async () => {
    const messages = await heard();
    const readers = [await party().read.lock(), await party().read.lock()];
    const [writer, ...others] = [party(), party(), party()];
    const writing = writer.write.lock();
    await writer.waits();
    for (const lease of readers) await lease.unlock();
    const written = await writing;
    const reading = others.map(({ read }) => read.lock());
    await Promise.all(others.map(({ waits }) => waits()));
    await written.unlock();
    for (const lease of await Promise.all(reading)) await lease.unlock();
    await until(() => messages.length === 3);
    expect(messages).toEqual(["0", "1", "0"]);
  });

  test("new readers pass a waiting writer when it is not fair, and no mark is left", async () => {
    const inside = await party().read.lock();
    const writer = party();
    const writing = writer.write.lock();
    await writer.waits();
    const passing = await party().read.tryLock();
    expect(passing?.state).toBe("held");
    expect([...(await server().keys())].sort()).toEqual(
      [
        NAME,
        writersQueueKey(NAME),
        ...[inside, passing].map((lease) => readHoldKey(NAME, lease?.holder ?? "", 1)),
      ].sort(),
    );
    await passing?.unlock();
    await inside.unlock();
    await (await writing).unlock();
  });

  test("it and a plain lock of its name exclude each other, and say who has it [wire-S21]", async () => {
    const { holdfast, read, write } = party();
    const plain = await holdfast.getLock(NAME).lock();
    expect([await read.tryLock(), await write.tryLock()]).toEqual([null, null]);
    await plain.unlock();
    const reading = await read.lock();
    await expect(holdfast.getLock(NAME).lock({ waitMs: 1 })).rejects.toMatchObject({
      obstacle: { holder: reading.holder },
    });
    await reading.unlock();
  });

  test("it is freed by force from what was seen, with the keys of its holds [wire-A13]", async () => {
    const { read, write } = party();
    expect([await read.forceUnlock(), await write.forceUnlock()]).toEqual([false, false]);
    const lease = await read.lock();
    await server().raw("HSET", NAME, JVM, "2");
    for (const index of [1, 2]) await server().raw("SET", readHoldKey(NAME, JVM, index), "1");
    expect([await write.forceUnlock(), await read.forceUnlock()]).toEqual([false, true]);
    expect(await server().keys()).toEqual([]);
    expect(lease.state).toBe("lost");
    const writing = await write.lock();
    const beside = await writing.run(() => read.lock());
    expect([await read.forceUnlock(), await write.forceUnlock()]).toEqual([false, true]);
    expect([await server().keys(), writing.state, beside.state]).toEqual([[], "lost", "lost"]);
  });

  test("it works for names that bring their own hash tag [RedissonReadWriteLockTest 4]", async () => {
    const { read } = readWriteParty(server(), "{test}:abc:key");
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        for (let i = 0; i < 10; i += 1) await read.using(() => undefined);
      }),
    );
    expect(await server().keys()).toEqual([]);
  });
});
