import { describe, expect, test } from "vitest";
import { rwChannel, waitingWriterKey } from "../../src/protocol/names.js";
import { backends, type OpenBackend, openedFor } from "../support/backends.js";
import { type FakeTime, fakeTime } from "../support/fake-time.js";
import { until } from "../support/until.js";
import { watched } from "../support/watched.js";

const open = fakeTime();

const NAME = "order:7";
const MARK = waitingWriterKey(NAME);
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const JVM = "3f0c5f9e-6f1d-4a53-9b0e-0c1d2e3f4a5b:57";

function pairOf({ holdfast }: Pick<FakeTime, "holdfast">, fair = true) {
  const pair = holdfast.getReadWriteLock(NAME, { fair });
  return { read: pair.readLock(), write: pair.writeLock() };
}

describe("a fair read-write lock", () => {
  test("lets a waiting writer in before new readers, in other clients as well, while those inside go on reading", async () => {
    const time = open();
    const { read, write } = pairOf(time);
    const inside = await read.lock();
    const writing = write.lock();
    const writer = watched(writing);
    await time.clock.advance(SECOND_MS);
    expect(await pairOf(time.connect()).read.tryLock()).toBeNull();
    expect(await pairOf(time).read.tryLock()).toBeNull();
    const again = await inside.run(() => read.lock());
    const late = pairOf(time.connect()).read.lock();
    const lateReader = watched(late);
    await time.clock.advance(10 * SECOND_MS);
    expect([writer.outcome, lateReader.outcome]).toEqual([undefined, undefined]);
    await again.unlock();
    await inside.unlock();
    await time.clock.advance(0);
    expect([writer.outcome, lateReader.outcome]).toMatchObject([{ value: { state: "held" } }, undefined]);
    expect(time.server.command("EXISTS", MARK)).toBe(0);
    await (await writing).unlock();
    await time.clock.advance(0);
    await (await late).unlock();
  });

  test("keeps a writer's mark alive for as long as it waits, with a command each third of the mark's life", async () => {
    const time = open();
    const inside = await pairOf(time).read.lock({ leaseMs: 10 * MINUTE_MS });
    const other = time.connect();
    const writing = pairOf(other).write.lock();
    await time.clock.advance(MINUTE_MS);
    expect(Number(time.server.command("PTTL", MARK))).toBeGreaterThan(2 * SECOND_MS);
    expect(other.driver.timesOf("write-acquire").length).toBeLessThan(60);
    await inside.unlock();
    await time.clock.advance(0);
    await (await writing).unlock();
  });

  test.each([
    ["is cancelled", (abort: AbortController) => abort.abort(new Error("not any more"))],
    ["runs out of time", () => undefined],
  ])("lets readers in at once when the waiting writer %s", async (_, giveUp) => {
    const time = open();
    const inside = await pairOf(time).read.lock({ leaseMs: 10 * MINUTE_MS });
    const cancel = new AbortController();
    const writing = pairOf(time)
      .write.lock({ waitMs: 3 * SECOND_MS, signal: cancel.signal })
      .catch(() => undefined);
    await time.clock.advance(SECOND_MS);
    const reading = pairOf(time.connect()).read.lock({ leaseMs: MINUTE_MS });
    const reader = watched(reading);
    await time.clock.advance(SECOND_MS);
    expect(reader.outcome).toBeUndefined();
    giveUp(cancel);
    await time.clock.advance(1_001);
    await writing;
    expect(reader.outcome).toMatchObject({ value: { state: "held" } });
    expect(time.server.command("EXISTS", MARK)).toBe(0);
    await (await reading).unlock();
    await inside.unlock();
  });

  test("lets readers in seconds after the waiting writer has died", async () => {
    const time = open();
    const inside = await pairOf(time).read.lock({ leaseMs: 10 * MINUTE_MS });
    // What a client that was killed leaves behind.
    time.server.command("SET", MARK, "somebody dead", "PX", 4 * SECOND_MS);
    const reading = pairOf(time.connect()).read.lock({ leaseMs: MINUTE_MS });
    const reader = watched(reading);
    await time.clock.advance(3 * SECOND_MS);
    expect(reader.outcome).toBeUndefined();
    await time.clock.advance(1_100);
    expect(reader.outcome).toMatchObject({ value: { state: "held" } });
    await (await reading).unlock();
    await inside.unlock();
  });

  test("does not keep the thread of the waiting writer's own scope from reading beside its write hold [R20]", async () => {
    const time = open();
    const { read, write } = pairOf(time);
    await write.using(async () => {
      const rival = pairOf(time.connect()).write.lock({ leaseMs: MINUTE_MS });
      await time.clock.advance(SECOND_MS);
      await read.using(() => undefined);
      await write.using(() => undefined);
      void rival.then((lease) => lease.unlock());
    });
    await time.clock.advance(SECOND_MS);
  });
});

describe("a read-write lock that is not fair", () => {
  test("lets new readers pass a waiting writer, and leaves no mark", async () => {
    const time = open();
    const { read, write } = pairOf(time, false);
    const inside = await read.lock();
    const writing = write.lock();
    await time.clock.advance(SECOND_MS);
    const passing = await pairOf(time.connect(), false).read.tryLock();
    expect(passing?.state).toBe("held");
    expect(time.server.command("EXISTS", MARK)).toBe(0);
    await passing?.unlock();
    await inside.unlock();
    await time.clock.advance(0);
    await (await writing).unlock();
  });
});

describe.each(backends)("a read-write lock on $name", (backend) => {
  const server = openedFor(backend);
  const pair = (backendServer: OpenBackend) => {
    const lock = backendServer.client({ safetyPeriodMs: 10 * MINUTE_MS }).getReadWriteLock(NAME);
    return { read: lock.readLock(), write: lock.writeLock() };
  };

  test("tells a writer of the last reader's release, and readers of the writer's, by message", async () => {
    const messages = await server().listen(rwChannel(NAME));
    const readers = [await pair(server()).read.lock(), await pair(server()).read.lock()];
    const writing = pair(server()).write.lock();
    for (const lease of readers) await lease.unlock();
    const writer = await writing;
    const reading = [pair(server()).read.lock(), pair(server()).read.lock()];
    await writer.unlock();
    for (const lease of await Promise.all(reading)) await lease.unlock();
    await until(() => messages.length === 3);
    expect(messages).toEqual(["0", "1", "0"]);
  });

  test("and a plain lock of its name exclude each other, and say who has it [wire-S21]", async () => {
    const client = server().client();
    const plain = await client.getLock(NAME).lock();
    const { read, write } = pair(server());
    expect([await read.tryLock(), await write.tryLock()]).toEqual([null, null]);
    await plain.unlock();
    const reading = await read.lock();
    await expect(client.getLock(NAME).lock({ waitMs: 1 })).rejects.toMatchObject({
      obstacle: { holder: reading.holder },
    });
    await reading.unlock();
  });

  test("is freed by force from what was seen, with the keys of its holds [wire-A13]", async () => {
    const { read, write } = pair(server());
    expect([await read.forceUnlock(), await write.forceUnlock()]).toEqual([false, false]);
    const lease = await read.lock();
    await server().raw("HSET", NAME, JVM, "2");
    for (const index of [1, 2]) await server().raw("SET", `{${NAME}}:${JVM}:rwlock_timeout:${index}`, "1");
    expect([await write.forceUnlock(), await read.forceUnlock()]).toEqual([false, true]);
    expect(await server().keys()).toEqual([]);
    expect(lease.state).toBe("lost");
    const writing = await write.lock();
    const beside = await writing.run(() => read.lock());
    expect([await read.forceUnlock(), await write.forceUnlock()]).toEqual([false, true]);
    expect([await server().keys(), writing.state, beside.state]).toEqual([[], "lost", "lost"]);
  });

  test("works for names that bring their own hash tag", async () => {
    const lock = server().client().getReadWriteLock("{test}:abc:key");
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        for (let i = 0; i < 10; i += 1) await lock.readLock().using(() => undefined);
      }),
    );
    expect(await server().keys()).toEqual([]);
  });
});
