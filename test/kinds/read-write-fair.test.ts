import { describe, expect, test } from "vitest";
import { waitingWriterKey } from "../../src/protocol/names.js";
import { MARK_MS } from "../../src/protocol/read-write-scripts.js";
import { neverDeliver } from "../support/faults/call-faults.js";
import { until } from "../support/run/until.js";
import { watched } from "../support/run/watched.js";
import { backends, openedFor } from "../support/servers/backends.js";
import { type FakeTime, fakeTime } from "../support/worlds/fake-time.js";
import { readWriteParty } from "../support/worlds/read-write-party.js";

const open = fakeTime();

const NAME = "order:7";
const MARK = waitingWriterKey(NAME);
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

function pairOf({ holdfast }: Pick<FakeTime, "holdfast">) {
  const pair = holdfast.getReadWriteLock(NAME, { fair: true });
  return { read: pair.readLock(), write: pair.writeLock() };
}

describe("a fair read-write lock", () => {
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
    const dying = time.connect();
    const writer = watched(pairOf(dying).write.lock());
    await time.clock.advance(SECOND_MS);
    const reading = pairOf(time.connect()).read.lock({ leaseMs: MINUTE_MS });
    const reader = watched(reading);
    await time.clock.advance(10 * SECOND_MS);
    expect([writer.outcome, reader.outcome]).toEqual([undefined, undefined]);
    // Of a client that was killed nothing arrives any more.
    for (let call = 0; call < 50; call += 1) void dying.driver.next(neverDeliver);
    await time.clock.advance(MARK_MS + 100);
    expect(reader.outcome).toMatchObject({ value: { state: "held" } });
    await (await reading).unlock();
    await inside.unlock();
  });
});

describe.each(backends)("a fair read-write lock on $name", (backend) => {
  const server = openedFor(backend);
  const party = () => readWriteParty(server(), NAME, true);
  const marked = () => until(async () => (await server().keys()).includes(MARK));

  test("lets a waiting writer in before new readers, in other clients as well, while those inside go on reading [wire-L12]", async () => {
    const { read, write } = party();
    const inside = await read.lock();
    const writing = write.lock();
    await marked();
    expect([await party().read.tryLock(), await read.tryLock()]).toEqual([null, null]);
    const again = await inside.run(() => read.lock());
    const late = party();
    const reading = late.read.lock();
    const reader = watched(reading);
    await late.waits();
    await again.unlock();
    await inside.unlock();
    const writer = await writing;
    expect(reader.outcome).toBeUndefined();
    expect(await server().keys()).toEqual([NAME]);
    await writer.unlock();
    await (await reading).unlock();
  });

  test("does not keep the thread of the waiting writer's own scope from reading beside its write hold [R20]", async () => {
    const { read, write } = party();
    const rival = await write.using(async () => {
      const call = party().write.lock();
      await marked();
      await read.using(() => undefined);
      await write.using(() => undefined);
      return { call };
    });
    const lease = await rival.call;
    expect(lease.state).toBe("held");
    await lease.unlock();
  });
});
